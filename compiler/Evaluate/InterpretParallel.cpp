// Meshes, and movement between host and devices.
#include "compiler/Evaluate/ArrayOps.h"
#include "compiler/Evaluate/Interpreter.h"

#include "pmap/runtime.h"
#include "runtime/core/FailureMessage.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <numeric>

using namespace mlir;

namespace pmap::evaluate {

//===-- Meshes -------------------------------------------------------------------------------------------------------//

int64_t Mesh::axisSize(StringRef axis) const { return sizes[llvm::find(axes, axis) - axes.begin()]; }

int64_t Mesh::position(int64_t device, StringRef axis) const {
  int64_t a = llvm::find(axes, axis) - axes.begin();
  return device / stridesOf(sizes)[a] % sizes[a];
}

int64_t Mesh::position(int64_t device, ArrayRef<StringRef> along) const {
  int64_t place = 0;
  for (StringRef axis : along)
    place = place * axisSize(axis) + position(device, axis);
  return place;
}

int64_t Mesh::axesSize(ArrayRef<StringRef> along) const {
  int64_t size = 1;
  for (StringRef axis : along)
    size *= axisSize(axis);
  return size;
}

Devices Mesh::group(int64_t device, ArrayRef<StringRef> along) const {
  Devices members;
  for (int64_t other = 0; other < deviceCount(); ++other)
    if (llvm::all_of(axes, [&](StringRef axis) {
          return llvm::is_contained(along, axis) || position(other, axis) == position(device, axis);
        }))
      members.push_back(other);
  return members;
}

std::optional<Mesh> Interpreter::resolve(MeshAttr attribute, Operation *op) {
  Mesh resolved;
  int64_t literal = 1, open = 0;
  for (auto [axis, size] : llvm::zip_equal(attribute.getAxes(), attribute.getSizes())) {
    resolved.axes.push_back(axis.getValue());
    resolved.sizes.push_back(size);
    if (size < 0)
      ++open;
    else
      literal *= size;
  }
  int64_t available = attribute.getDevices().empty() ? options.devices : int64_t(attribute.getDevices().size());
  for (int64_t device : attribute.getDevices())
    if (device >= options.devices) {
      failOfInput(op, {"E1121",
                       "device " + std::to_string(device) + " does not exist: the program has " +
                           std::to_string(options.devices),
                       "run with --devices " + std::to_string(device + 1)});
      return std::nullopt;
    }
  if (literal > available || (open != 0 && available % literal != 0)) {
    std::string text;
    for (auto [axis, size] : llvm::zip_equal(resolved.axes, resolved.sizes))
      text += (text.empty() ? "" : ", ") + axis.str() + ": " + (size < 0 ? "_" : std::to_string(size));
    failOfInput(op, {"E1121",
                     "mesh (" + text + ") needs " + (open ? "a multiple of " : "") + std::to_string(literal) +
                         " devices, the program has " + std::to_string(available),
                     "run with --devices " + std::to_string(open ? (available / literal + 1) * literal : literal)});
    return std::nullopt;
  }
  for (int64_t &size : resolved.sizes)
    if (size < 0)
      size = available / literal;
  return resolved;
}

//===-- Movement -----------------------------------------------------------------------------------------------------//

static SmallVector<StringRef> axesOf(SpecAttr spec, int64_t dim) {
  SmallVector<StringRef> axes;
  for (StringAttr axis : spec.getAxes(dim))
    axes.push_back(axis.getValue());
  return axes;
}

/// Part `place` of `size` elements in `parts`: the first size mod parts parts have one element more.
static std::pair<int64_t, int64_t> partOf(int64_t size, int64_t parts, int64_t place) {
  int64_t each = size / parts, more = size % parts;
  return {place * each + std::min(place, more), each + (place < more ? 1 : 0)};
}

PerDevice Interpreter::split(const NDArray &whole, SpecAttr spec, const Mesh &onto) {
  PerDevice blocks;
  SmallVector<int64_t> ones(whole.rank(), 1);
  for (int64_t device = 0; device < onto.deviceCount(); ++device) {
    SmallVector<int64_t> offsets, shape;
    for (int64_t d = 0; d < whole.rank(); ++d) {
      SmallVector<StringRef> axes = axesOf(spec, d);
      auto [offset, size] = partOf(whole.dim(d), onto.axesSize(axes), onto.position(device, axes));
      offsets.push_back(offset);
      shape.push_back(size);
    }
    blocks.push_back(slice(whole, shape, offsets, ones));
  }
  return blocks;
}

NDArray Interpreter::assemble(ArrayRef<NDArray> blocks, SpecAttr spec, const Mesh &from) {
  int64_t rank = spec.getRank();
  // The size of each part along each dimension: that of any block at that place.
  SmallVector<SmallVector<int64_t>> parts(rank);
  for (int64_t d = 0; d < rank; ++d) {
    SmallVector<StringRef> axes = axesOf(spec, d);
    parts[d].resize(from.axesSize(axes));
    for (int64_t device = 0; device < from.deviceCount(); ++device)
      parts[d][from.position(device, axes)] = blocks[device].rank() == rank ? blocks[device].dim(d) : 1;
  }
  SmallVector<int64_t> shape, ones(rank, 1);
  for (int64_t d = 0; d < rank; ++d)
    shape.push_back(std::accumulate(parts[d].begin(), parts[d].end(), int64_t(0)));

  NDArray whole(blocks[0].element(), shape);
  for (int64_t device = 0; device < from.deviceCount(); ++device) {
    SmallVector<int64_t> offsets, extent;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t place = from.position(device, axesOf(spec, d));
      offsets.push_back(std::accumulate(parts[d].begin(), parts[d].begin() + place, int64_t(0)));
      extent.push_back(parts[d][place]);
    }
    whole = updateSlice(whole, blocks[device].reshaped(extent), offsets, ones);
  }
  return whole;
}

NDArray Interpreter::gathered(Value value, Operation *op) {
  auto type = cast<DistType>(value.getType());
  std::optional<Mesh> from = resolve(type.getMesh(), op);
  return from ? assemble(values[value], type.getSpec(), *from) : NDArray();
}

void Interpreter::runMove(MoveOp op) {
  NDArray whole = isa<DistType>(op.getInput().getType()) ? gathered(op.getInput(), op) : get(op.getInput(), 0);
  if (failures[0])
    return;
  auto type = dyn_cast<DistType>(op.getResult().getType());
  if (!type)
    return set(op.getResult(), 0, whole);
  // A value that is already split this way stays as it is: ragged blocks of shards keep their sizes (P5).
  if (op.getInput().getType() == type) {
    values[op.getResult()] = PerDevice(values[op.getInput()]);
    return;
  }
  if (std::optional<Mesh> onto = resolve(type.getMesh(), op)) {
    PerDevice blocks = split(whole, type.getSpec(), *onto);
    values[op.getResult()] = std::move(blocks);
  }
}

void Interpreter::runShards(ShardsOp op) {
  auto type = cast<DistType>(op.getResult().getType());
  std::optional<Mesh> onto = resolve(type.getMesh(), op);
  if (!onto)
    return;
  PerDevice blocks;
  for (Value block : op.getBlocks())
    blocks.push_back(get(block, 0));
  // Blocks meet along the one dimension that is split; elsewhere they agree.
  for (auto [number, block] : llvm::enumerate(blocks))
    for (int64_t d = 0; d < block.rank(); ++d)
      if (type.getSpec().getAxes(d).empty() && block.dim(d) != blocks[0].dim(d))
        return failWith(op, 0, "E1122",
                        "blocks differ off the split dimension: block 0 has size " + Twine(blocks[0].dim(d)) +
                            " in dimension " + Twine(d) + ", block " + Twine(number) + " has " + Twine(block.dim(d)));
  values[op.getResult()] = std::move(blocks);
}

void Interpreter::runToShards(ToShardsOp op) {
  for (auto [index, block] : llvm::enumerate(op.getBlocks())) {
    NDArray array = values[op.getInput()][index];
    set(block, 0, std::move(array));
  }
}

//===-- Maps ---------------------------------------------------------------------------------------------------------//

void Interpreter::runMap(MapOp op) {
  std::optional<Mesh> resolved = resolve(op.getMesh(), op);
  if (!resolved)
    return;
  int64_t count = resolved->deviceCount();

  // Sizes are checked before anything runs (P3).
  SmallVector<SmallVector<int64_t>> localSizes;
  for (auto [operand, argument] : llvm::zip_equal(op.getSizes(), op.getSizeArguments())) {
    int64_t size = getIndex(operand, 0);
    SmallVector<StringRef> axes;
    for (StringAttr axis : argument.getAxes())
      axes.push_back(axis.getValue());
    int64_t parts = resolved->axesSize(axes);
    if (size % parts != 0 && !argument.getRagged())
      return failOfInput(op, rt::indivisibleSize(argument.getLabel().getValue(), size, parts, llvm::join(axes, ", ")));
    SmallVector<int64_t> local;
    for (int64_t device = 0; device < count; ++device)
      local.push_back(partOf(size, parts, resolved->position(device, axes)).second);
    localSizes.push_back(local);
  }

  // Blocks that were given apart (shards) may be cut elsewhere than this map cuts; such a value is moved.
  SmallVector<PerDevice> inputs;
  for (Value input : op.getInputs()) {
    SpecAttr spec = cast<DistType>(input.getType()).getSpec();
    PerDevice expected = split(gathered(input, op), spec, *resolved);
    inputs.push_back(std::move(expected));
  }

  anyDeviceRan = true;
  // Inside, every value is one array per device.
  SmallVector<std::optional<Failure>> hostFailures(count);
  std::swap(failures, hostFailures);
  mesh = resolved;
  Devices active;
  for (int64_t device = 0; device < count; ++device) {
    active.push_back(device);
    for (auto [k, argument] : llvm::enumerate(op.getLocalSizes())) {
      set(argument, device, NDArray::ofIndex(localSizes[k][device]));
      bindSymbol(op.getSizeArguments()[k].getSymbol().getValue(), device, localSizes[k][device]);
    }
    for (auto [k, block] : llvm::enumerate(op.getBlocks()))
      set(block, device, inputs[k][device]);
  }
  Block &body = op.getBody().front();
  runBlock(body, active);

  std::optional<Failure> lowest;
  int64_t lowestDevice = 0;
  for (int64_t device = count; device-- > 0;)
    if (failures[device]) {
      lowest = failures[device];
      lowestDevice = device;
    }
  mesh.reset();
  std::swap(failures, hostFailures);
  if (lowest) {
    // What is told of a collective is true of every device that takes part.
    if (count > 1 && lowest->kind >= 0 && !rt::failureMessage(lowest->kind, lowest->text, 0, 0, 0).isTold)
      lowest->note = "on device " + std::to_string(lowestDevice);
    failures[0] = lowest;
    return;
  }
  for (auto [result, yielded] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands())) {
    PerDevice blocks = values[yielded];
    blocks.resize(count);
    values[result] = std::move(blocks);
  }
}

} // namespace pmap::evaluate
