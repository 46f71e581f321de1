// Maps, movements and collectives: calls of the runtime.
#include "compiler/Lower/RuntimeOps.h"
#include "compiler/Lower/Translator.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "pmap/runtime.h"

using namespace mlir;

namespace pmap {

//===--------------------------------------------------------------------------------------------------------------===//
// Layout texts (runtime.h explains them)
//===--------------------------------------------------------------------------------------------------------------===//

static void printAxes(llvm::raw_ostream &os, ArrayRef<StringAttr> axes) {
  if (axes.empty())
    os << '_';
  llvm::interleave(axes, os, [&](StringAttr axis) { os << axis.getValue(); }, "+");
}

static void printMesh(llvm::raw_ostream &os, MeshAttr mesh) {
  os << "mesh";
  for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    os << ' ' << axis.getValue() << '=' << size;
  os << ';';
  if (mesh.getDevices().empty())
    return;
  os << " devices";
  for (int64_t device : mesh.getDevices())
    os << ' ' << device;
  os << ';';
}

static void printSpec(llvm::raw_ostream &os, StringRef kind, DistType type) {
  os << ' ' << kind << ' ' << runtimeDTypeName(runtimeDType(type.getTensor().getElementType())) << " [";
  for (int64_t dim = 0; dim < type.getSpec().getRank(); ++dim) {
    os << (dim ? "," : "");
    printAxes(os, type.getSpec().getAxes(dim));
  }
  os << "];";
}

static std::string layoutOf(DistType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printMesh(os, type.getMesh());
  printSpec(os, "in", type);
  return text;
}

static std::string layoutOf(MapOp op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printMesh(os, op.getMesh());
  for (SizeArgAttr size : op.getSizeArguments()) {
    os << " size ";
    printAxes(os, size.getAxes());
    os << (size.getRagged() ? " ragged \"" : " \"");
    llvm::printEscapedString(size.getLabel().getValue(), os);
    os << "\";";
  }
  for (Value input : op.getInputs())
    printSpec(os, "in", cast<DistType>(input.getType()));
  for (Value result : op.getResults())
    printSpec(os, "out", cast<DistType>(result.getType()));
  return text;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Maps
//===--------------------------------------------------------------------------------------------------------------===//

LogicalResult Translator::translateMap(MapOp op) {
  Location loc = op.getLoc();
  MLIRContext *context = b.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type();
  std::string name = (oldFunction.getName() + ".map" + Twine(mapCount++)).str();
  Block &body = op.getBody().front();

  // The body becomes a function of its own. Its blocks are not written: they may be the input itself.
  SmallVector<Type> resultTypes = convert(body.getTerminator()->getOperandTypes());
  auto function =
      func::FuncOp::create(loc, name, FunctionType::get(context, convert(body.getArgumentTypes()), resultTypes));
  function->setAttr("pmap.device_body", b.getUnitAttr());
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<TensorType>(type))
      function.setArgAttr(index, "bufferization.writable", b.getBoolAttr(false));
  module.push_back(function);
  declarePacked(module, loc, name);
  {
    OpBuilder::InsertionGuard guard(b);
    auto outerFunction = newFunction;
    SizeValues outerSizes = std::move(sizes);
    MeshAttr outerMesh = mesh;
    newFunction = function;
    mesh = op.getMesh();
    sizes = SizeValues();
    Block *entry = function.addEntryBlock();
    sizes.enterFunction(entry);
    b.setInsertionPointToStart(entry);
    for (auto [symbol, value] : llvm::zip(op.getSizeArguments(), entry->getArguments()))
      sizes.bind(symbol.getSymbol().getValue(), value, nullptr);
    LogicalResult done = translateRegion(body, *entry, entry->getArguments(),
                                         [&](ArrayRef<Value> results) { func::ReturnOp::create(b, loc, results); });
    newFunction = outerFunction;
    sizes = std::move(outerSizes);
    mesh = outerMesh;
    if (failed(done))
      return failure();
  }

  // The call. Its arrays of pointers live in the function's frame, not in that of a loop.
  auto array = [&](Type element, size_t count) -> Value {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&newFunction.getBody().front());
    Value length = LLVM::ConstantOp::create(b, loc, i64, static_cast<int64_t>(std::max<size_t>(count, 1)));
    return LLVM::AllocaOp::create(b, loc, pointer, element, length, 8);
  };
  auto place = [&](Type element, Value base, size_t index) -> Value {
    return LLVM::GEPOp::create(b, loc, pointer, element, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  };
  Value globalSizes = array(i64, op.getSizes().size()), inputs = array(pointer, op.getInputs().size()),
        outputs = array(pointer, op.getNumResults());
  for (auto [index, size] : llvm::enumerate(op.getSizes()))
    LLVM::StoreOp::create(b, loc, arith::IndexCastOp::create(b, loc, i64, plain(size)), place(i64, globalSizes, index));
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    LLVM::StoreOp::create(b, loc, plain(input), place(pointer, inputs, index));
  SymbolRefAttr callee = declareRuntimeFunction(module, "pmap_rt_map",
                                                FunctionType::get(context, {pointer, pointer, pointer, pointer}, {}));
  Value descriptor = constants.mapDescriptor(b, loc, name + ".packed", layoutOf(op));
  func::CallOp::create(b, loc, callee, TypeRange(), ValueRange{descriptor, globalSizes, inputs, outputs});
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    set(result, LLVM::LoadOp::create(b, loc, pointer, place(pointer, outputs, index)));
  return success();
}

Value Translator::axisSize(StringRef axis, Location loc) {
  // Asked once, at the start of the function: it is a symbol like the sizes that come with the arguments.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&newFunction.getBody().front());
  // Outside of any map only `@devices` occurs (contracts.md): the devices at run time.
  if (!mesh && axis == "devices") {
    SymbolRefAttr callee =
        declareRuntimeFunction(module, "pmap_rt_num_devices", FunctionType::get(b.getContext(), {}, {b.getI64Type()}));
    Value count = func::CallOp::create(b, loc, callee, b.getI64Type(), ValueRange()).getResult(0);
    Value size = arith::IndexCastOp::create(b, loc, b.getIndexType(), count);
    sizes.bindAtEntry("@devices", size);
    return size;
  }
  MeshAttr owner = mesh;
  if (!owner)
    oldFunction.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (auto dist = dyn_cast<DistType>(result.getType()); dist && dist.getMesh().hasAxis(axis))
          owner = dist.getMesh();
      return owner ? WalkResult::interrupt() : WalkResult::advance();
    });
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type(), i64 = b.getI64Type();
  Value result;
  auto position = owner ? llvm::find_if(owner.getAxes(), [&](StringAttr a) { return a.getValue() == axis; }) : nullptr;
  if (!owner || position == owner.getAxes().end())
    llvm::report_fatal_error(llvm::Twine("no mesh has the axis ") + axis);
  int64_t number = std::distance(owner.getAxes().begin(), position);
  Value axisNumber = arith::ConstantIntOp::create(b, loc, number, 32);
  if (mesh) {
    SymbolRefAttr callee =
        declareRuntimeFunction(module, "pmap_rt_axis_size", FunctionType::get(b.getContext(), {i32}, {i64}));
    result = func::CallOp::create(b, loc, callee, i64, axisNumber).getResult(0);
  } else {
    std::string layout;
    llvm::raw_string_ostream os(layout);
    printMesh(os, owner);
    SymbolRefAttr callee = declareRuntimeFunction(module, "pmap_rt_mesh_axis_size",
                                                  FunctionType::get(b.getContext(), {pointer, pointer, i32}, {i64}));
    Value site = constants.site(b, loc), text = constants.text(b, loc, layout);
    result = func::CallOp::create(b, loc, callee, i64, ValueRange{site, text, axisNumber}).getResult(0);
  }
  Value size = arith::IndexCastOp::create(b, loc, b.getIndexType(), result);
  sizes.bindAtEntry(("@" + axis).str(), size);
  return size;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Movements
//===--------------------------------------------------------------------------------------------------------------===//

void Translator::releaseDist(Value value, Location loc) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  SymbolRefAttr callee =
      declareRuntimeFunction(module, "pmap_rt_dist_release", FunctionType::get(b.getContext(), {pointer}, {}));
  func::CallOp::create(b, loc, callee, TypeRange(), value);
}

void Translator::retainDist(Value value, Location loc) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  SymbolRefAttr callee =
      declareRuntimeFunction(module, "pmap_rt_dist_retain", FunctionType::get(b.getContext(), {pointer}, {}));
  func::CallOp::create(b, loc, callee, TypeRange(), value);
}

/// True when the bytes of `array` cannot change while a distributed value looks at them: an argument, which nobody
/// writes, or what an op outside of loops has made for this one use. (A slice would not do: the array it is a part of
/// may be updated.)
static bool staysUnchanged(Value old, Value array) {
  if (auto argument = dyn_cast<BlockArgument>(array))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *maker = array.getDefiningOp();
  return old.hasOneUse() && isa<linalg::LinalgOp>(maker) && isa<func::FuncOp>(maker->getParentOp());
}

LogicalResult Translator::translateMove(MoveOp op) {
  Location loc = op.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
  auto from = dyn_cast<DistType>(op.getInput().getType()), to = dyn_cast<DistType>(op.getType());
  Value input = plain(op.getInput());
  Value site = constants.site(b, loc);
  if (from && to) {
    SymbolRefAttr callee = declareRuntimeFunction(
        module, "pmap_rt_move_dist", FunctionType::get(b.getContext(), {pointer, pointer, pointer}, {pointer}));
    Value layout = constants.text(b, loc, layoutOf(to));
    set(op, func::CallOp::create(b, loc, callee, pointer, ValueRange{site, layout, input}).getResult(0));
    return success();
  }
  if (to) {
    Value layout = constants.text(b, loc, layoutOf(to));
    Value copy = arith::ConstantIntOp::create(b, loc, staysUnchanged(op.getInput(), input) ? 0 : 1, 32);
    set(op,
        rt::CallOp::create(b, loc, pointer, "pmap_rt_move_to_dist", ValueRange{site, layout, copy}, input, ValueRange())
            .getResult(0));
    return success();
  }
  // After its last use the value gives up its reference, so that what it holds in one piece need not be copied.
  bool lastUse = giveUp(op.getInput(), op);
  Value consumes = arith::ConstantOp::create(b, loc, b.getIntegerAttr(i32, lastUse));
  set(op, rt::CallOp::create(b, loc, convert(op.getType()), "pmap_rt_move_to_host", ValueRange{site, input, consumes},
                             ValueRange(), ValueRange())
              .getResult(0));
  return success();
}

LogicalResult Translator::translateShards(ShardsOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> blocks = plain(op.getBlocks());
  bool unchanged = llvm::all_of(llvm::zip(op.getBlocks(), blocks),
                                [](auto pair) { return staysUnchanged(std::get<0>(pair), std::get<1>(pair)); });
  Value site = constants.site(b, loc), layout = constants.text(b, loc, layoutOf(cast<DistType>(op.getType())));
  Value copy = arith::ConstantIntOp::create(b, loc, unchanged ? 0 : 1, 32);
  set(op, rt::CallOp::create(b, loc, convert(op.getType()), "pmap_rt_shards", ValueRange{site, layout, copy}, blocks,
                             ValueRange())
              .getResult(0));
  return success();
}

LogicalResult Translator::translateToShards(ToShardsOp op) {
  Location loc = op.getLoc();
  Value site = constants.site(b, loc);
  auto call = rt::CallOp::create(b, loc, convert(op.getResultTypes()), "pmap_rt_to_shards",
                                 ValueRange{site, plain(op.getInput())}, ValueRange(), ValueRange());
  for (auto [old, result] : llvm::zip(op.getBlocks(), call.getResults()))
    set(old, result);
  return success();
}

LogicalResult Translator::translatePrint(PrintOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> values;
  SmallVector<int32_t> dtypes, ranks;
  for (auto [old, dtype] : llvm::zip(op.getValues(), op.getDtypes().getAsValueRange<StringAttr>())) {
    if (isa<DistType>(old.getType()))
      return op.emitError("prints a distributed value that was not gathered");
    values.push_back(plain(old));
    dtypes.push_back(runtimeDTypeFromName(dtype));
    ranks.push_back(cast<RankedTensorType>(old.getType()).getRank());
  }
  SmallVector<Value> scalars{constants.site(b, loc), constants.text(b, loc, op.getFormat()),
                             constants.table(b, loc, dtypes), constants.table(b, loc, ranks)};
  rt::CallOp::create(b, loc, TypeRange(), "pmap_rt_print", scalars, values, ValueRange());
  return success();
}

} // namespace pmap
