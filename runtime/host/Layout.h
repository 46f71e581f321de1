//===- Layout.h - Meshes and how values lie on them --------------------------------------------------------------===//

#ifndef PMAP_HOST_LAYOUT_H
#define PMAP_HOST_LAYOUT_H

#include "pmap/runtime.h"

#include <string>
#include <vector>

namespace pmap::rt {

/// The mesh axes that split one dimension, major first; empty when it is not split.
using AxisList = std::vector<int32_t>;

/// How a value lies on a mesh.
struct ValueSpec {
  int32_t dtype = PMAP_f32;
  std::vector<AxisList> dimensions;
  /// An output whose first dimension is made by stacking what the devices yield.
  bool stack = false;
};

/// How a local size of a map follows from the global one.
struct SizeSpec {
  AxisList axes;
  bool ragged = false;
  std::string label;
};

/// A parsed layout text; runtime.h has the grammar.
struct Layout {
  std::vector<std::string> axisNames;
  std::vector<int64_t> axisSizes; ///< -1: open.
  std::vector<int32_t> devices;   ///< Empty: the first ones.
  std::vector<SizeSpec> sizes;
  std::vector<ValueSpec> inputs, outputs;
  std::string malformed; ///< What is wrong with the text; a fault of the compiler.
};

/// The layout of a text, parsed once per content.
const Layout &layoutOf(const char *text);

/// The mesh's sizes with open ones filled in from the number of devices; fails with E1121 where they do not fit.
void resolveMesh(const pmap_site *site, const Layout &layout, std::vector<int64_t> &sizes);

/// `(a: 2, b: _)`, for messages.
std::string meshText(const Layout &layout);

/// The product of some axes' sizes.
int64_t partsOf(const AxisList &axes, const std::vector<int64_t> &meshSizes);

/// The coordinate along each axis of the device with a flat rank (row-major).
std::vector<int64_t> coordinatesOf(int64_t rank, const std::vector<int64_t> &meshSizes);

/// The flat index along some axes, major first.
int64_t flatIndex(const AxisList &axes, const std::vector<int64_t> &coordinates, const std::vector<int64_t> &meshSizes);

/// Part `index` of 0..n cut into `parts`: the first n mod parts hold one more.
inline int64_t partBegin(int64_t n, int64_t parts, int64_t index) {
  int64_t rest = n % parts;
  return n / parts * index + (index < rest ? index : rest);
}
inline int64_t partSize(int64_t n, int64_t parts, int64_t index) { return n / parts + (index < n % parts); }

} // namespace pmap::rt

#endif // PMAP_HOST_LAYOUT_H
