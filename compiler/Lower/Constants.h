// Static data that compiled code hands to the runtime: sites, texts, small tables.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"

namespace pmap {

/// The file, line and column an op came from, the innermost where calls were inlined; line 0 where nothing is known.
struct SourcePlace {
  llvm::StringRef file;
  int32_t line = 0, column = 0;
};
SourcePlace placeOf(mlir::Location loc);

/// Makes LLVM globals in a module, one per content, and their addresses as `!llvm.ptr` values.
class Constants {
public:
  /// `prefix` begins the names of the globals; each maker of a module has its own.
  explicit Constants(mlir::ModuleOp module, llvm::StringRef prefix = "pmap.") : module(module), prefix(prefix) {}

  /// A null-terminated text.
  mlir::Value text(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef text);
  /// A `pmap_site` for `loc`; no text when `text` is empty.
  mlir::Value site(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef text = "");
  /// An array of int32_t.
  mlir::Value table(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int32_t> values);
  /// A `pmap_map_desc`. `body` is the symbol of the packed device body, which must exist.
  mlir::Value mapDescriptor(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef body, llvm::StringRef layout);

private:
  llvm::StringRef textGlobal(mlir::Location loc, llvm::StringRef text);
  llvm::StringRef siteGlobal(mlir::Location loc, llvm::StringRef text);

  mlir::ModuleOp module;
  std::string prefix;
  llvm::StringMap<std::string> globals; ///< content, with a letter for its kind in front, to symbol
};

/// The private declaration of a runtime function that takes and returns scalars and pointers only.
mlir::SymbolRefAttr declareRuntimeFunction(mlir::ModuleOp module, llvm::StringRef name, mlir::FunctionType type,
                                           llvm::ArrayRef<llvm::StringRef> llvmAttributes = {});

/// Declares the packed form `@f.packed` of a device body, so that a descriptor can name it before it has a body.
llvm::StringRef declarePacked(mlir::ModuleOp module, mlir::Location loc, llvm::StringRef function);

} // namespace pmap
