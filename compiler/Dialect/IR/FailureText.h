// What a run-time failure says where an operation is made of others: a halo is slices that are sent, and its users want
// to read of the halo. The text travels in the location, which every rewriting keeps.
#pragma once

#include "mlir/IR/Location.h"

namespace pmap {

/// The location, with what a failure there reads instead of the text of its kind. `{a} {b} {c}` are what the kind's own
/// text names (PMAP_FAILURES in pmap/runtime.h), `{b-a} {a-1} {c-1}` what they say; what follows a line break is a
/// note.
mlir::Location toldAs(mlir::Location location, llvm::StringRef code, const llvm::Twine &text);

/// The code and text of such a location, as a site of the runtime holds them: `E1103 text`. Of others "".
llvm::StringRef failureText(mlir::Location location);

/// A size polynomial as the source writes its names: `k - i`, where symbols of one name are `k.1` and `i.2`, and
/// `axis_size("a")` for `@a`.
std::string readableSize(llvm::StringRef polynomial);

} // namespace pmap
