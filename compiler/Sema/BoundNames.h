// Telling tools (`pmapc show`) what names are bound to, while it is known.
#pragma once

#include "compiler/Sema/Elaborator.h"

namespace pmap::sema {

/// Tells `SemaOptions::onBind`, where there is one, that `name` at `range` is bound to `value` in the function being
/// elaborated. Values that hold no array are not worth telling.
void tellBound(Elaborator &e, llvm::StringRef name, const Value &value, SourceRange range);

} // namespace pmap::sema
