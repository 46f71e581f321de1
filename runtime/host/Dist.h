//===- Dist.h - Distributed values -------------------------------------------------------------------------------===//
//
// The devices of a process share its memory, so a block is a pointer and a replicated value is one block that all
// devices read. Splitting dimension 0 makes views of the one global buffer. A byte moves only where a split cuts across
// rows, or blocks that lie apart are gathered; the context counts those bytes.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_HOST_DIST_H
#define PMAP_HOST_DIST_H

#include "runtime/core/Context.h"
#include "runtime/host/Layout.h"

namespace pmap::rt {

using Shape = std::vector<int64_t>;

int64_t elementsOf(const Shape &shape);

/// A dense row-major array. `owner` is the buffer from pmap_rt_alloc that holds it, or memory that is not the
/// runtime's.
struct Block {
  void *owner = nullptr;
  char *data = nullptr;
  Shape sizes;
};

/// Reads a packed array. The block has no reference of its own. What is not dense, or is a scalar (whose storage
/// belongs to the caller), is copied into a fresh buffer; `fresh` says so.
Block readPacked(const void *packed, int32_t dtype, size_t rank, bool &fresh);

/// Writes a dense array into packed storage; a scalar's bytes are copied.
void writePacked(void *packed, int32_t dtype, const Block &block);

/// Copies a box between two arrays, given in elements: `sizes` of it at `offsets` of an array of shape `sourceShape`,
/// and likewise for the target. Large copies use the current device's threads; with `stream` long runs are stored past
/// the caches.
void copyBox(char *target, const Shape &targetShape, const Shape &targetOffsets, const char *source,
             const Shape &sourceShape, const Shape &sourceOffsets, const Shape &sizes, int64_t elementBytes,
             bool stream = false);

} // namespace pmap::rt

/// `blocks` has one entry per distinct part: dimension by dimension, row-major over the parts along each.
struct pmap_dist {
  std::atomic<int32_t> references{1};
  int32_t dtype = PMAP_f32;
  pmap::rt::Shape sizes;
  std::vector<pmap::rt::AxisList> dimensions;
  std::vector<std::string> axisNames;
  std::vector<int64_t> meshSizes;
  std::vector<pmap::rt::Block> blocks; ///< Each holds a reference to its owner.
  /// Every block has the size that partSize gives; what a body yields may be cut otherwise.
  bool regular = true;
};

namespace pmap::rt {

/// Parts along each dimension.
std::vector<int64_t> partsAlong(const std::vector<AxisList> &dimensions, const std::vector<int64_t> &meshSizes);

/// Which block the device with these coordinates sees.
int64_t blockIndex(const pmap_dist &value, const std::vector<int64_t> &coordinates);

/// Whether the value is split as a spec on a mesh asks.
bool liesAs(const pmap_dist &value, const ValueSpec &spec, const std::vector<std::string> &axisNames,
            const std::vector<int64_t> &meshSizes);

/// Splits a dense array. Views hold references to `whole.owner`; the caller keeps its own.
pmap_dist *split(const Block &whole, const ValueSpec &spec, const std::vector<std::string> &axisNames,
                 const std::vector<int64_t> &meshSizes);

/// The value as one dense array with a reference of the caller's: its only block where there is one, or blocks that lie
/// side by side; otherwise a fresh copy.
Block joined(const pmap_dist &value);

/// `value` split as asked: itself with a reference more, or moved.
pmap_dist *resplit(pmap_dist *value, const ValueSpec &spec, const std::vector<std::string> &axisNames,
                   const std::vector<int64_t> &meshSizes);

} // namespace pmap::rt

#endif // PMAP_HOST_DIST_H
