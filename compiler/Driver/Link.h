// Linking an object with the runtime into an executable, by the system's C compiler.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace pmap {

/// Links `object` (the bytes of an object file that defines `main`) with the runtime into `output`, through a temporary
/// that is renamed. The BLAS-class library is linked only when the object calls it. Returns an error message, or "".
/// `cc` is $CC, else cc, gcc or clang from PATH; when there is none the message says what to install.
std::string linkExecutable(llvm::StringRef object, llvm::StringRef output);

/// True when the object has an undefined symbol that starts with `prefix`.
bool needsSymbol(llvm::StringRef object, llvm::StringRef prefix);
/// True when the object defines the symbol `name`.
bool definesSymbol(llvm::StringRef object, llvm::StringRef name);

/// The folder with the runtime's libraries: lib/ beside the compiler's bin/.
std::string runtimeLibraryFolder();

} // namespace pmap
