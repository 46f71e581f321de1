//===- OddValues.h - Values that are neither literals nor files that can be read ---------------------------------===//

#ifndef PMAP_IO_ODDVALUES_H
#define PMAP_IO_ODDVALUES_H

#include "pmap/program.h"
#include "runtime/io/Problem.h"

namespace pmap::rt {

/// What is wrong with the value of `name=value` that is no literal of the leaf's type, in terms of what was likely
/// meant: a folder, a file of another form, a pattern, a path that leads nowhere. `literal` is what the parser of
/// literals said.
Problem oddValue(const pmap_leaf &leaf, const std::string &name, const std::string &value, Problem literal);

/// Whether a path names several files: it has `*`, `?` or `[` and is no file itself.
bool isPattern(const std::string &path);

/// What NumPy calls a dtype, `np.float32`, for advice.
std::string numpyName(int32_t dtype);

} // namespace pmap::rt

#endif // PMAP_IO_ODDVALUES_H
