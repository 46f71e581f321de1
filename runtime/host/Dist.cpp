// Splitting, gathering and moving distributed values.

#include "runtime/host/Dist.h"

#include <algorithm>
#include <cstring>

using namespace pmap::rt;

namespace {

void countMoved(int64_t bytes) { context().movedBytes.fetch_add(bytes, std::memory_order_relaxed); }

/// Offsets and sizes of part number `index` of a regular split.
void boxOf(const Shape &sizes, const std::vector<int64_t> &parts, int64_t index, Shape &offsets, Shape &box) {
  size_t rank = sizes.size();
  offsets.assign(rank, 0);
  box.assign(rank, 0);
  for (size_t i = rank; i-- > 0;) {
    int64_t part = index % parts[i];
    index /= parts[i];
    offsets[i] = partBegin(sizes[i], parts[i], part);
    box[i] = partSize(sizes[i], parts[i], part);
  }
}

/// Whether a box is one contiguous piece of an array: past the first dimension where it is longer than 1, it is whole.
bool isDense(const Shape &sizes, const Shape &box) {
  size_t first = 0;
  while (first < box.size() && box[first] == 1)
    ++first;
  for (size_t i = first + 1; i < box.size(); ++i)
    if (box[i] != sizes[i])
      return false;
  return true;
}

int64_t offsetOf(const Shape &sizes, const Shape &offsets) {
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    offset = offset * sizes[i] + offsets[i];
  return offset;
}

/// Whether the value is dense in one buffer already: one block, or views of dimension 0 side by side.
bool liesTogether(const pmap_dist &value) {
  const char *next = value.blocks[0].data;
  if (value.blocks.size() == 1)
    return true;
  std::vector<int64_t> parts = partsAlong(value.dimensions, value.meshSizes);
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i] != 1)
      return false;
  for (const Block &block : value.blocks) {
    if (block.owner != value.blocks[0].owner || block.data != next)
      return false;
    next += elementsOf(block.sizes) * pmap_dtype_bytes(value.dtype);
  }
  return true;
}

/// Consumes the block's reference where nobody else may hold the buffer: `holders` are the references that are ours.
bool isOurs(const Block &block, int32_t holders) {
  return block.owner && block.owner != (void *)0xdeadbeef && Arena::owns(block.owner) &&
         ((BlockHeader *)((char *)block.owner - sizeof(BlockHeader)))->references.load() == holders;
}

Block copyOf(const Block &block, int32_t dtype) {
  Block copy;
  int64_t bytes = elementsOf(block.sizes) * pmap_dtype_bytes(dtype);
  copy.owner = pmap_rt_alloc(bytes);
  copy.data = (char *)copy.owner;
  copy.sizes = block.sizes;
  Shape flat{bytes}, zero{0};
  copyBox(copy.data, flat, zero, block.data, flat, zero, flat, 1);
  return copy;
}

/// The one value a move is about.
const ValueSpec &singleSpec(const pmap_site *site, const Layout &layout) {
  if (!layout.malformed.empty() || layout.inputs.size() != 1)
    fail(site, "E1202", "internal error: layout of a move: " + layout.malformed);
  return layout.inputs[0];
}

} // namespace

std::vector<int64_t> pmap::rt::partsAlong(const std::vector<AxisList> &dimensions,
                                          const std::vector<int64_t> &meshSizes) {
  std::vector<int64_t> parts;
  for (const AxisList &axes : dimensions)
    parts.push_back(partsOf(axes, meshSizes));
  return parts;
}

int64_t pmap::rt::blockIndex(const pmap_dist &value, const std::vector<int64_t> &coordinates) {
  int64_t index = 0;
  for (const AxisList &axes : value.dimensions)
    index = index * partsOf(axes, value.meshSizes) + flatIndex(axes, coordinates, value.meshSizes);
  return index;
}

bool pmap::rt::liesAs(const pmap_dist &value, const ValueSpec &spec, const std::vector<std::string> &axisNames,
                      const std::vector<int64_t> &meshSizes) {
  if (!value.regular || value.dimensions.size() != spec.dimensions.size())
    return false;
  // A value that is one whole block lies right on any mesh.
  bool whole = value.blocks.size() == 1;
  for (const AxisList &axes : spec.dimensions)
    whole &= partsOf(axes, meshSizes) == 1;
  if (whole)
    return true;
  return value.axisNames == axisNames && value.meshSizes == meshSizes && value.dimensions == spec.dimensions;
}

pmap_dist *pmap::rt::split(const Block &whole, const ValueSpec &spec, const std::vector<std::string> &axisNames,
                           const std::vector<int64_t> &meshSizes) {
  auto *value = new pmap_dist;
  value->dtype = spec.dtype;
  value->sizes = whole.sizes;
  value->dimensions = spec.dimensions;
  value->axisNames = axisNames;
  value->meshSizes = meshSizes;
  std::vector<int64_t> parts = partsAlong(spec.dimensions, meshSizes);
  int64_t bytes = pmap_dtype_bytes(spec.dtype), count = elementsOf(parts);
  Shape offsets, box, zero(whole.sizes.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    boxOf(whole.sizes, parts, i, offsets, box);
    Block block;
    block.sizes = box;
    if (isDense(whole.sizes, box)) {
      block.owner = whole.owner;
      block.data = whole.data + offsetOf(whole.sizes, offsets) * bytes;
      pmap_rt_retain(block.owner);
    } else {
      int64_t size = elementsOf(box) * bytes;
      block.owner = pmap_rt_alloc(size);
      block.data = (char *)block.owner;
      copyBox(block.data, box, zero, whole.data, whole.sizes, offsets, box, bytes);
      countMoved(size);
    }
    value->blocks.push_back(std::move(block));
  }
  return value;
}

Block pmap::rt::joined(const pmap_dist &value) {
  Block whole;
  whole.sizes = value.sizes;
  if (liesTogether(value)) {
    whole.owner = value.blocks[0].owner;
    whole.data = value.blocks[0].data;
    pmap_rt_retain(whole.owner);
    return whole;
  }
  int64_t bytes = pmap_dtype_bytes(value.dtype), size = elementsOf(value.sizes) * bytes;
  whole.owner = pmap_rt_alloc(size);
  whole.data = (char *)whole.owner;
  countMoved(size);
  std::vector<int64_t> parts = partsAlong(value.dimensions, value.meshSizes);
  size_t rank = value.sizes.size();
  Shape zero(rank, 0), offsets(rank, 0);
  for (size_t b = 0; b < value.blocks.size(); ++b) {
    // The offset along a dimension is the sum of the sizes of the blocks before; splits need not be regular.
    int64_t stride = 1, rest = (int64_t)b;
    for (size_t i = rank; i-- > 0;) {
      int64_t part = rest % parts[i];
      rest /= parts[i];
      offsets[i] = 0;
      for (int64_t p = 0; p < part; ++p)
        offsets[i] += value.blocks[b - (size_t)((part - p) * stride)].sizes[i];
      stride *= parts[i];
    }
    const Block &block = value.blocks[b];
    copyBox(whole.data, value.sizes, offsets, block.data, block.sizes, zero, block.sizes, bytes);
  }
  return whole;
}

pmap_dist *pmap::rt::resplit(pmap_dist *value, const ValueSpec &spec, const std::vector<std::string> &axisNames,
                             const std::vector<int64_t> &meshSizes) {
  if (liesAs(*value, spec, axisNames, meshSizes)) {
    pmap_rt_dist_retain(value);
    return value;
  }
  Block whole = joined(*value);
  pmap_dist *moved = split(whole, spec, axisNames, meshSizes);
  pmap_rt_free(whole.owner);
  return moved;
}

//===--------------------------------------------------------------------------------------------------------------===//
// C ABI
//===--------------------------------------------------------------------------------------------------------------===//

pmap_dist *pmap_rt_move_to_dist(const pmap_site *site, const char *text, const void *source, int32_t copy) {
  const Layout &layout = layoutOf(text);
  const ValueSpec &spec = singleSpec(site, layout);
  std::vector<int64_t> mesh;
  resolveMesh(site, layout, mesh);
  bool fresh;
  Block whole = readPacked(source, spec.dtype, spec.dimensions.size(), fresh);
  if (!fresh && (copy || whole.owner == (void *)0xdeadbeef)) {
    whole = copyOf(whole, spec.dtype);
    fresh = true;
  }
  pmap_dist *value = split(whole, spec, layout.axisNames, mesh);
  if (fresh)
    pmap_rt_free(whole.owner);
  return value;
}

void pmap_rt_move_to_host(const pmap_site *site, pmap_dist *value, void *result, int32_t last_use) {
  bool together = liesTogether(*value);
  Block whole = joined(*value);
  // The result is the caller's to write, so a shared buffer is copied.
  bool alone = last_use && value->references.load() == 1 && isOurs(whole, (int32_t)value->blocks.size() + 1) &&
               whole.data == (char *)whole.owner;
  if (together && !alone) {
    Block copy = copyOf(whole, value->dtype);
    countMoved(elementsOf(whole.sizes) * pmap_dtype_bytes(value->dtype));
    pmap_rt_free(whole.owner);
    whole = std::move(copy);
  }
  writePacked(result, value->dtype, whole);
  if (value->sizes.empty())
    pmap_rt_free(whole.owner);
  if (last_use)
    pmap_rt_dist_release(value);
}

pmap_dist *pmap_rt_move_dist(const pmap_site *site, const char *text, pmap_dist *value) {
  const Layout &layout = layoutOf(text);
  const ValueSpec &spec = singleSpec(site, layout);
  std::vector<int64_t> mesh;
  resolveMesh(site, layout, mesh);
  return resplit(value, spec, layout.axisNames, mesh);
}

pmap_dist *pmap_rt_shards(const pmap_site *site, const char *text, int32_t count, const void *const *blocks,
                          int32_t copy) {
  const Layout &layout = layoutOf(text);
  const ValueSpec &spec = singleSpec(site, layout);
  std::vector<int64_t> mesh;
  resolveMesh(site, layout, mesh);
  size_t rank = spec.dimensions.size(), dim = 0;
  while (dim < rank && spec.dimensions[dim].empty())
    ++dim;
  if (dim == rank || partsOf(spec.dimensions[dim], mesh) != count)
    fail(site, "E1202", "internal error: layout of shards");
  auto *value = new pmap_dist;
  value->dtype = spec.dtype;
  value->dimensions = spec.dimensions;
  value->axisNames = layout.axisNames;
  value->meshSizes = mesh;
  int64_t along = 0;
  for (int32_t i = 0; i < count; ++i) {
    bool fresh;
    Block block = readPacked(blocks[i], spec.dtype, rank, fresh);
    if (!fresh && (copy || block.owner == (void *)0xdeadbeef))
      block = copyOf(block, spec.dtype);
    else if (!fresh)
      pmap_rt_retain(block.owner);
    value->blocks.push_back(block);
    along += block.sizes[dim];
    for (size_t d = 0; d < rank; ++d)
      if (d != dim && block.sizes[d] != value->blocks[0].sizes[d])
        fail(site, "E1122",
             format("blocks differ off the split dimension: block 0 has size %lld in dimension %zu, block %d has %lld",
                    (long long)value->blocks[0].sizes[d], d, i, (long long)block.sizes[d]));
  }
  value->sizes = value->blocks[0].sizes;
  value->sizes[dim] = along;
  for (int32_t i = 0; i < count; ++i)
    value->regular &= value->blocks[(size_t)i].sizes[dim] == partSize(along, count, i);
  if (value->regular)
    return value;
  pmap_dist *even = resplit(value, spec, layout.axisNames, mesh);
  pmap_rt_dist_release(value);
  return even;
}

void pmap_rt_to_shards(const pmap_site *site, pmap_dist *value, int32_t count, void *const *results) {
  if ((size_t)count != value->blocks.size())
    fail(site, "E1121", format("value has %zu blocks, expected %d", value->blocks.size(), count));
  for (int32_t i = 0; i < count; ++i)
    writePacked(results[i], value->dtype, copyOf(value->blocks[(size_t)i], value->dtype));
}

void pmap_rt_dist_sizes(const pmap_dist *value, int64_t *sizes) {
  std::copy(value->sizes.begin(), value->sizes.end(), sizes);
}

void pmap_rt_dist_retain(pmap_dist *value) {
  if (value)
    value->references.fetch_add(1, std::memory_order_relaxed);
}

void pmap_rt_dist_release(pmap_dist *value) {
  if (!value || value->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  for (const Block &block : value->blocks)
    pmap_rt_free(block.owner);
  delete value;
}
