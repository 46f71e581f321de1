// Values that live split over devices, outside of any pmap (P5, P6): shard, shards, to_shards, gather, to_device,
// num_devices.

#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/Parallel.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

bool insidePmap(CallContext &c) {
  for (const MeshContext &mesh : c.e.meshes)
    if (!mesh.isVmap && !mesh.open) {
      c.e.error(Code::E0701, c.range, "`" + c.builtin.name + "` is for values outside of a pmap, got one inside")
          .note(mesh.range, "the pmap is here");
      return true;
    }
  return false;
}

/// shard(x, dim): splits now what a pmap would split when it starts.
Value shard(CallContext &c) {
  if (insidePmap(c) || !c["x"] || c["x"].isError())
    return Value::error();
  auto mesh = readMesh(c.e, c["axis"], c["mesh"], c["devices"], c.range);
  if (!mesh)
    return Value::error();
  SmallVector<Value, 4> leaves, specs, results;
  c.e.flatten(c["x"], leaves);
  Value spec = c.has("dim") ? c["dim"] : Value::integer(0, c.range);
  if (!spreadSpecs(c.e, c["x"], spec, specs, "`shard`"))
    return Value::error();
  for (auto [leaf, how] : llvm::zip(leaves, specs)) {
    Value array = c.e.isDistributed(leaf) ? leaf : c.e.materialize(leaf);
    const auto *data = array.as<ArrayValue>();
    if (!data)
      return Value::error();
    auto read = readSpec(c.e, *mesh, how, c.e.rankOf(array), "the array");
    if (!read)
      return Value::error();
    auto dist = mlir::dyn_cast<DistType>(data->ssa.getType());
    auto tensor = dist ? dist.getTensor() : mlir::cast<mlir::RankedTensorType>(data->ssa.getType());
    auto type = DistType::get(&c.e.context, tensor, read->attribute(&c.e.context), mesh->attribute(&c.e.context));
    mlir::Value moved = data->ssa;
    if (moved.getType() != type)
      moved = MoveOp::create(c.e.builder, c.e.loc(c.range), type, moved);
    results.push_back(Value::array(moved, data->dtype, c.range));
  }
  return c.e.rebuild(c["x"], results);
}

/// gather(x): the whole on the host, nothing to do for what is already whole; gather(x, dst: k): on device k alone.
Value gather(CallContext &c) {
  if (insidePmap(c) || !c["x"] || c["x"].isError())
    return Value::error();
  if (!c.has("dst"))
    return gatherAll(c.e, c["x"], c.range);
  auto device = readDevice(c, "dst");
  return device ? moveToDevice(c.e, c["x"], *device, c.range) : Value::error();
}

/// to_device(x, k): the value lives on device k alone.
Value toDevice(CallContext &c) {
  if (insidePmap(c) || !c["x"] || c["x"].isError())
    return Value::error();
  auto device = readDevice(c, "device");
  return device ? moveToDevice(c.e, c["x"], *device, c.range) : Value::error();
}

/// shards(a, b, c): blocks that are already apart, one per device.
Value shards(CallContext &c) {
  if (insidePmap(c))
    return Value::error();
  SmallVector<Value, 4> blocks = Arguments(c).sequence(c["blocks"]);
  if (blocks.empty())
    return c.e.error(Code::E0714, c.range, "`shards` needs at least one block, got none");
  auto dtype = c.e.commonDType(blocks, c.range, "`shards`");
  if (!dtype)
    return Value::error();
  SmallVector<mlir::Value, 4> arrays;
  SmallVector<Size, 4> first;
  Size total;
  for (const Value &block : blocks) {
    Operand operand = Arguments(c).asArray(block, *dtype);
    if (!operand)
      return Value::error();
    SmallVector<Size, 4> sizes = c.e.sizesOf(operand.ssa);
    if (sizes.empty())
      return c.e.error(Code::E0714, operand.range, "`shards` takes arrays, which have a dimension 0, got a scalar");
    if (arrays.empty())
      first = sizes;
    if (sizes != first) {
      Report report = c.e.error(Code::E0714, operand.range,
                                "`shards` takes blocks of one shape: expected " + c.e.renderArray(*dtype, first) +
                                    ", got " + c.e.renderArray(*dtype, sizes));
      for (const auto *list : {&first, &sizes})
        for (const Size &size : *list)
          c.e.noteBirths(report, size);
      return report;
    }
    total += sizes[0];
    arrays.push_back(operand.ssa);
  }
  Mesh mesh;
  mesh.axes = {"devices"};
  mesh.sizes = {int64_t(arrays.size())};
  Spec spec = Spec::replicated(int64_t(first.size()));
  spec.dims[0] = mesh.axes;
  first[0] = total;
  Emit(c).unifyVary(arrays); // within a vmap some may differ from row to row
  auto type = DistType::get(&c.e.context, c.e.tensorType(*dtype, first, c.e.varyOf(arrays.front())),
                            spec.attribute(&c.e.context), mesh.attribute(&c.e.context));
  return Value::array(ShardsOp::create(c.e.builder, c.e.loc(c.range), type, arrays), *dtype, c.range);
}

/// to_shards(x): a tuple of the blocks, on a mesh of literal size.
Value toShards(CallContext &c) {
  if (insidePmap(c) || !c["x"] || c["x"].isError())
    return Value::error();
  const auto *array = c["x"].as<ArrayValue>();
  auto dist = array ? mlir::dyn_cast<DistType>(array->ssa.getType()) : DistType();
  if (!dist)
    return c.e.error(Code::E0719, c["x"].range(),
                     "`to_shards` needs a value that is split over devices, got " + c.e.render(c["x"]));
  int64_t devices = 1, split = -1;
  for (int64_t size : dist.getMesh().getSizes())
    devices = size < 0 || devices < 0 ? -1 : devices * size;
  if (devices < 0)
    return c.e.error(
        Code::E0715, c["x"].range(),
        "`to_shards` needs a mesh of literal size, as in `devices: 4`, got one of the devices at run time");
  int64_t splits = 0;
  for (int64_t dim = 0; dim < dist.getSpec().getRank(); ++dim)
    if (!dist.getSpec().getAxes(dim).empty()) {
      split = dim;
      ++splits;
    }
  if (splits != 1)
    return c.e.error(Code::E0719, c["x"].range(),
                     "`to_shards` needs a value split along one dimension, got one split along " +
                         std::to_string(splits));
  SmallVector<Size, 4> sizes = c.e.sizesOf(c["x"]);
  Size whole = sizes[split];
  SmallVector<mlir::Type, 4> types;
  for (int64_t rank = 0; rank < devices; ++rank) {
    // The first `whole mod devices` blocks have one more (P3); even splits simplify to whole / devices.
    sizes[split] = Size::floorDiv(whole + Size(devices - 1 - rank), Size(devices));
    types.push_back(c.e.tensorType(array->dtype, sizes, c.e.varyOf(array->ssa)));
  }
  auto op = ToShardsOp::create(c.e.builder, c.e.loc(c.range), types, array->ssa);
  SmallVector<Value, 4> blocks;
  for (mlir::Value block : op.getBlocks())
    blocks.push_back(Value::array(block, array->dtype, c.range));
  return Value::tuple(blocks, c.range);
}

/// The size of the mesh around it; outside of any, the devices at run time.
Value numDevices(CallContext &c) {
  for (const MeshContext &mesh : c.e.meshes)
    if (!mesh.isVmap && !mesh.open) {
      Size product(1);
      for (const std::string &axis : mesh.axes)
        product *= axisSizeIn(c.e.builder.getInsertionBlock(), axis);
      return Value::size(product, c.range);
    }
  return Value::size(Size::axis("devices"), c.range);
}

} // namespace

bool sema::isOnOneDevice(DistType type) {
  return type.getSpec().isReplicated() && type.getMesh().getDevices().size() == 1;
}

std::optional<int64_t> sema::readDevice(CallContext &c, StringRef parameter) {
  auto device = Arguments(c).integer(c[parameter], "a device");
  if (!device)
    return std::nullopt;
  if (*device < 0)
    return c.e.error(Code::E0703, c.rangeOf(parameter),
                     "devices are counted from 0: expected a number of at least 0, got " + std::to_string(*device));
  if (*device >= kMostDevices)
    return c.e.error(Code::E0703, c.rangeOf(parameter),
                     "there are at most " + std::to_string(kMostDevices) + " devices");
  return device;
}

/// Replaces every leaf of a nest; an error in one is one of the whole.
static Value replaceLeaves(Elaborator &e, const Value &value, llvm::function_ref<Value(const Value &)> replace) {
  SmallVector<Value, 4> leaves, results;
  e.flatten(value, leaves);
  for (const Value &leaf : leaves) {
    results.push_back(replace(leaf));
    if (results.back().isError())
      return Value::error();
  }
  return e.rebuild(value, results);
}

Value sema::gatherAll(Elaborator &e, const Value &value, SourceRange range) {
  return replaceLeaves(e, value, [&](const Value &leaf) {
    Value whole = e.materialize(leaf);
    const auto *array = whole.as<ArrayValue>();
    return array ? Value::array(array->ssa, array->dtype, range) : Value::error();
  });
}

Value sema::moveToDevice(Elaborator &e, const Value &value, int64_t device, SourceRange range) {
  Mesh mesh;
  mesh.axes = {"devices"};
  mesh.sizes = {1};
  mesh.devices = {device};
  return replaceLeaves(e, value, [&](const Value &leaf) {
    Value array = e.isDistributed(leaf) ? leaf : e.materialize(leaf);
    const auto *data = array.as<ArrayValue>();
    if (!data)
      return Value::error();
    auto dist = mlir::dyn_cast<DistType>(data->ssa.getType());
    auto tensor = dist ? dist.getTensor() : mlir::cast<mlir::RankedTensorType>(data->ssa.getType());
    auto type = DistType::get(&e.context, tensor, Spec::replicated(tensor.getRank()).attribute(&e.context),
                              mesh.attribute(&e.context));
    mlir::Value moved = data->ssa;
    if (moved.getType() != type)
      moved = MoveOp::create(e.builder, e.loc(range), type, moved);
    return Value::array(moved, data->dtype, range);
  });
}

void sema::registerDistributedBuiltins(BuiltinTable &table) {
  table.add("shard", "x, dim?, axis:?, mesh:?, devices:?", shard);
  table.add("gather", "x, dst:?", gather);
  table.add("shards", "*blocks", shards);
  table.add("to_shards", "x", toShards);
  table.add("num_devices", "", numDevices);
  table.add("to_device", "x, device", toDevice);
}
