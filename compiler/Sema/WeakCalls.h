// Builtins of arguments that no dtype has claimed yet.
#pragma once

#include "compiler/Sema/Builtin.h"

namespace pmap::sema {

/// Calls a builtin whose data are all weak, as in `sum([0.5, 1.5])`, so that the result is weak as well and takes the
/// dtype of what it meets. Nothing where the builtin has a dtype of its own, or its data have one.
std::optional<Value> callWeakly(CallContext &c);

} // namespace pmap::sema
