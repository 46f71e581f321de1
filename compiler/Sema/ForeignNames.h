// What people write who come from NumPy, JAX and Python, and how it is written here: for the notes and fixes of errors.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace pmap::sema {

/// How what NumPy and Python call `name` is written here; empty where that is unknown.
llvm::StringRef foreignName(llvm::StringRef name);
/// The same of the name of a type.
llvm::StringRef foreignType(llvm::StringRef name);
/// The same of what is written behind a dot of an array.
llvm::StringRef foreignAttribute(llvm::StringRef name);
/// The name that a builtin or dtype of NumPy's name has here, for a fix; empty where there is none that can just take
/// its place.
llvm::StringRef renamed(llvm::StringRef name);
/// The label that an argument of JAX's, NumPy's or PyTorch's name has here; empty where that is unknown.
llvm::StringRef renamedLabel(llvm::StringRef label);
/// Where a name that nothing bears is found in the library: a module that is not imported, or a function of one. Empty
/// where it is in none.
std::string inLibrary(llvm::StringRef name, llvm::ArrayRef<std::string> folders);

} // namespace pmap::sema
