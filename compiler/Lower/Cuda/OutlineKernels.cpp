// `gpu.launch` to kernels of their own and calls of the runtime.
//
// A kernel's parameters are bare: the address of each array, and only those sizes and strides that its accesses need,
// as the host's values. Accesses become loads and stores of the LLVM dialect here, since a memref descriptor in a
// kernel would cost seven parameters for a matrix.

#include "compiler/Lower/Cuda/KernelFailure.h"
#include "compiler/Lower/Cuda/Launch.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/RuntimeOps.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace pmap {
namespace {

constexpr llvm::StringLiteral kernelsModule = "pmap_kernels";

// A place in shared memory has addresses of its own.
constexpr unsigned sharedSpace = 3;

class Outliner {
public:
  Outliner(ModuleOp module, gpu::GPUModuleOp kernels) : module(module), kernels(kernels), host(module.getContext()) {}

  LogicalResult outline(gpu::LaunchOp launch) {
    if (failed(checkBody(launch)))
      return failure();
    this->launch = launch;
    parameters.clear();
    arguments.clear();
    addresses.clear();
    knownStrides.clear();
    places.clear();
    loc = launch.getLoc();
    host.setInsertionPoint(launch);
    sinkConstants();

    OpBuilder top = OpBuilder::atBlockEnd(&kernels.getBodyRegion().front());
    std::string what = launch->getAttrOfType<StringAttr>(kernelWhat).getValue().str();
    function = func::FuncOp::create(top, loc, nameFor(what), top.getFunctionType({}, {}));
    Block *entry = function.addEntryBlock();
    OpBuilder body = OpBuilder::atBlockEnd(entry);
    IRMapping mapping;
    mapIds(body, mapping);
    mapShared(body, mapping);
    kernelEntry = entry;
    for (Operation &op : launch.getBody().front().without_terminator())
      body.clone(op, mapping);
    func::ReturnOp::create(body, loc);
    lowerAccesses();
    function.walk([](rt::OpaqueOp op) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
    captureScalars();
    if (failed(lowerCalls()))
      return failure();
    function.setType(body.getFunctionType(entry->getArgumentTypes(), {}));
    function = shareEqual(function);
    replaceByCall();
    return success();
  }

private:
  // What a kernel cannot hold is a fault of the passes before: memory of its own, loops nobody mapped, arrays as
  // values.
  LogicalResult checkBody(gpu::LaunchOp launch) {
    WalkResult bad = launch.getBody().walk([](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp, memref::CopyOp, scf::ParallelOp, scf::ForallOp,
              linalg::LinalgOp, gpu::LaunchOp>(op)) {
        op->emitError("is left in a kernel: ") << op->getName() << " [E1201]";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return success(!bad.wasInterrupted());
  }

  // Constants are made in the kernel again, instead of being handed to it.
  void sinkConstants() {
    SetVector<Value> outside;
    getUsedValuesDefinedAbove(launch.getBody(), launch.getBody(), outside);
    OpBuilder inside = OpBuilder::atBlockBegin(&launch.getBody().front());
    for (Value value : outside) {
      Operation *maker = value.getDefiningOp();
      // The address of a global is the host's own.
      if (!maker || !maker->hasTrait<OpTrait::ConstantLike>() || isa<LLVM::AddressOfOp>(maker))
        continue;
      Value copy = inside.clone(*maker)->getResult(0);
      replaceAllUsesInRegionWith(value, copy, launch.getBody());
    }
  }

  std::string nameFor(StringRef what) {
    auto owner = launch->getParentOfType<func::FuncOp>();
    std::string name = owner.getName().str();
    llvm::replace(name, '.', '_');
    FileLineColLoc place;
    loc->walk([&](Location inner) {
      place = dyn_cast<FileLineColLoc>(inner);
      return place ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (place)
      name += "_l" + std::to_string(place.getLine());
    name += "_" + what.str();
    std::string unique = name;
    for (unsigned count = 2; kernels.lookupSymbol(unique); ++count)
      unique = name + "_" + std::to_string(count);
    return unique;
  }

  void mapIds(OpBuilder &body, IRMapping &mapping) {
    auto id = [&](Value registerValue) -> Value {
      return arith::IndexCastUIOp::create(body, loc, body.getIndexType(), registerValue);
    };
    Type i32 = body.getI32Type();
    auto grid = launch.getBlockIds(), block = launch.getThreadIds();
    if (!grid.x.use_empty())
      mapping.map(grid.x, id(NVVM::BlockIdXOp::create(body, loc, i32)));
    if (!block.x.use_empty())
      mapping.map(block.x, id(NVVM::ThreadIdXOp::create(body, loc, i32)));
  }

  void mapShared(OpBuilder &body, IRMapping &mapping) {
    for (BlockArgument place : launch.getWorkgroupAttributions()) {
      auto type = cast<MemRefType>(place.getType());
      std::string name = (function.getName() + "_shared" + Twine(places.size())).str();
      OpBuilder top = OpBuilder::atBlockBegin(&kernels.getBodyRegion().front());
      Type array = LLVM::LLVMArrayType::get(memoryType(type.getElementType()), type.getNumElements());
      LLVM::GlobalOp::create(top, loc, array, /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
                             /*alignment=*/16, sharedSpace);
      Value address =
          LLVM::AddressOfOp::create(body, loc, LLVM::LLVMPointerType::get(body.getContext(), sharedSpace), name);
      // A memref stands for it until accesses are lowered.
      Value standIn = UnrealizedConversionCastOp::create(body, loc, type, address).getResult(0);
      places[standIn] = address;
      mapping.map(place, standIn);
    }
  }

  //===------------------------------------------------------------------------------------------------------------===//
  // Parameters
  //===------------------------------------------------------------------------------------------------------------===//

  // The kernel's parameter for a value of the host; constants are made again.
  Value parameter(Value value) {
    if (auto constant = getConstantIntValue(value); constant && value.getType().isIndex()) {
      OpBuilder body = OpBuilder::atBlockBegin(kernelEntry);
      return arith::ConstantIndexOp::create(body, loc, *constant);
    }
    if (Value known = parameters.lookup(value))
      return known;
    Value passed = value;
    if (value.getType().isInteger(1))
      passed = arith::ExtUIOp::create(host, loc, host.getI32Type(), value);
    Value inside = kernelEntry->addArgument(passed.getType(), loc);
    arguments.push_back(passed);
    if (passed != value) {
      OpBuilder body = OpBuilder::atBlockBegin(kernelEntry);
      inside = arith::TruncIOp::create(body, loc, value.getType(), inside);
    }
    parameters[value] = inside;
    return inside;
  }

  // The address of an array's first element.
  Value addressOf(Value array) {
    if (Value place = places.lookup(array))
      return place;
    if (Value known = addresses.lookup(array))
      return parameter(known);
    auto type = cast<MemRefType>(array.getType());
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(host, loc, array);
    if (!isDense(array)) {
      auto metadata = memref::ExtractStridedMetadataOp::create(host, loc, array);
      Value bytes = arith::ConstantIndexOp::create(host, loc, bytesOf(type.getElementType()));
      Value offset = arith::MulIOp::create(host, loc, metadata.getOffset(), bytes);
      base = arith::AddIOp::create(host, loc, base, offset);
    }
    Value number = arith::IndexCastOp::create(host, loc, host.getI64Type(), base);
    Value pointer = LLVM::IntToPtrOp::create(host, loc, LLVM::LLVMPointerType::get(host.getContext()), number);
    addresses[array] = pointer;
    return parameter(pointer);
  }

  // Elements between neighbours of each dimension, in the kernel.
  ArrayRef<Value> stridesOf(Value array) {
    SmallVector<Value> &strides = knownStrides[array];
    if (strides.empty())
      strides = makeStrides(array);
    return strides;
  }

  SmallVector<Value> makeStrides(Value array) {
    auto type = cast<MemRefType>(array.getType());
    SmallVector<Value> strides(type.getRank());
    if (isDense(array)) {
      Value stride = arith::ConstantIndexOp::create(host, loc, 1);
      for (int64_t dim = type.getRank(); dim-- > 0;) {
        strides[dim] = parameter(stride);
        if (dim > 0)
          stride = host.createOrFold<arith::MulIOp>(loc, stride, sizeOf(host, loc, array, dim));
      }
      return strides;
    }
    auto [known, offset] = type.getStridesAndOffset();
    auto metadata = memref::ExtractStridedMetadataOp::create(host, loc, array);
    for (auto [dim, stride] : llvm::enumerate(metadata.getStrides()))
      strides[dim] = parameter(ShapedType::isDynamic(known[dim])
                                   ? stride
                                   : arith::ConstantIndexOp::create(host, loc, known[dim]).getResult());
    return strides;
  }

  static int64_t bytesOf(Type element) {
    return element.isIndex() ? 8 : std::max(8u, element.getIntOrFloatBitWidth()) / 8;
  }

  Type memoryType(Type element) {
    if (element.isIndex())
      return host.getI64Type();
    return element.isInteger(1) ? Type(host.getI8Type()) : element;
  }

  //===------------------------------------------------------------------------------------------------------------===//
  // Accesses
  //===------------------------------------------------------------------------------------------------------------===//

  Value element(OpBuilder &body, Value array, ValueRange indices) {
    auto type = cast<MemRefType>(array.getType());
    Value address = addressOf(array);
    ArrayRef<Value> strides = places.contains(array) ? ArrayRef<Value>() : stridesOf(array);
    Value linear;
    for (auto [dim, index] : llvm::enumerate(indices)) {
      Value step = index;
      if (!strides.empty() && getConstantIntValue(strides[dim]) != 1)
        step = arith::MulIOp::create(body, loc, index, strides[dim]);
      linear = linear ? arith::AddIOp::create(body, loc, linear, step).getResult() : step;
    }
    if (!linear)
      return address;
    Value number = arith::IndexCastOp::create(body, loc, body.getI64Type(), linear);
    return LLVM::GEPOp::create(body, loc, address.getType(), memoryType(type.getElementType()), address,
                               ArrayRef<LLVM::GEPArg>{number}, LLVM::GEPNoWrapFlags::inbounds);
  }

  // Vectors are only ever moved where they are aligned (isAligned).
  static unsigned alignmentOf(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return std::min<int64_t>(16, vector.getNumElements() * bytesOf(vector.getElementType()));
    return bytesOf(type);
  }

  void lowerLoad(Operation *op, Value array, ValueRange indices) {
    OpBuilder body(op);
    Type type = op->getResult(0).getType();
    Value address = element(body, array, indices);
    Value loaded;
    if (type.isIndex() || type.isInteger(1)) {
      loaded = LLVM::LoadOp::create(body, loc, memoryType(type), address, bytesOf(type));
      loaded = type.isIndex() ? arith::IndexCastOp::create(body, loc, type, loaded).getResult()
                              : arith::TruncIOp::create(body, loc, type, loaded).getResult();
    } else {
      loaded = LLVM::LoadOp::create(body, loc, type, address, alignmentOf(type));
    }
    op->getResult(0).replaceAllUsesWith(loaded);
    op->erase();
  }

  void lowerStore(Operation *op, Value value, Value array, ValueRange indices) {
    OpBuilder body(op);
    Type type = value.getType();
    Value address = element(body, array, indices);
    if (type.isIndex())
      value = arith::IndexCastOp::create(body, loc, memoryType(type), value);
    else if (type.isInteger(1))
      value = arith::ExtUIOp::create(body, loc, memoryType(type), value);
    LLVM::StoreOp::create(body, loc, value, address, alignmentOf(value.getType()));
    op->erase();
  }

  void lowerAccesses() {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (auto load = dyn_cast<memref::LoadOp>(op))
        lowerLoad(op, load.getMemRef(), load.getIndices());
      else if (auto store = dyn_cast<memref::StoreOp>(op))
        lowerStore(op, store.getValue(), store.getMemRef(), store.getIndices());
      else if (auto load = dyn_cast<vector::LoadOp>(op))
        lowerLoad(op, load.getBase(), load.getIndices());
      else if (auto store = dyn_cast<vector::StoreOp>(op))
        lowerStore(op, store.getValueToStore(), store.getBase(), store.getIndices());
      else if (auto dim = dyn_cast<memref::DimOp>(op)) {
        dim.replaceAllUsesWith(parameter(sizeOf(host, loc, dim.getSource(), *dim.getConstantIndex())));
        dim.erase();
      }
    }
    for (auto [standIn, address] : places)
      if (standIn.use_empty())
        standIn.getDefiningOp()->erase();
  }

  // Numbers of the host that the body uses directly.
  void captureScalars() {
    function.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (!function.getBody().isAncestor(operand.get().getParentRegion()))
          operand.set(parameter(operand.get()));
    });
  }

  //===------------------------------------------------------------------------------------------------------------===//
  // Calls
  //===------------------------------------------------------------------------------------------------------------===//

  // An equal kernel made before, or this one. Names and places of the source do not count.
  func::FuncOp shareEqual(func::FuncOp made) {
    std::string text;
    llvm::raw_string_ostream os(text);
    StringAttr name = made.getSymNameAttr();
    made.setSymName("kernel");
    made->print(os, OpPrintingFlags().useLocalScope());
    made.setSymNameAttr(name);
    if (text.find("_shared") != std::string::npos) // Shared memory is named after the kernel.
      return made;
    auto [entry, isNew] = equal.try_emplace(text, made);
    if (isNew)
      return made;
    made.erase();
    return entry->second;
  }

  // pmap_cuda_launch(kernel, blocks, threads, addresses of the arguments).
  void replaceByCall() {
    MLIRContext *context = host.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i32 = host.getI32Type(), i64 = host.getI64Type();
    auto number = [&](Type type, int64_t value) -> Value {
      return LLVM::ConstantOp::create(host, loc, type, host.getIntegerAttr(type, value));
    };
    // Storage in the function's frame, not in that of a loop.
    auto storage = [&](Type type, int64_t count) -> Value {
      OpBuilder::InsertionGuard guard(host);
      host.setInsertionPointToStart(&launch->getParentOfType<func::FuncOp>().getBody().front());
      return LLVM::AllocaOp::create(host, loc, pointer, type, number(i64, count), 8);
    };
    Value list = storage(pointer, std::max<size_t>(1, arguments.size()));
    for (auto [index, value] : llvm::enumerate(arguments)) {
      Value stored = value;
      if (value.getType().isIndex())
        stored = arith::IndexCastOp::create(host, loc, i64, value);
      Value slot = storage(stored.getType(), 1);
      LLVM::StoreOp::create(host, loc, stored, slot);
      Value place =
          LLVM::GEPOp::create(host, loc, pointer, pointer, list, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
      LLVM::StoreOp::create(host, loc, slot, place);
    }
    Value blocks = arith::IndexCastOp::create(host, loc, i64, launch.getGridSizeX());
    Value kernel = LLVM::AddressOfOp::create(host, loc, pointer, recordOf(function));
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>("pmap_cuda_launch");
    if (!callee) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      callee = LLVM::LLVMFuncOp::create(
          top, module.getLoc(), "pmap_cuda_launch",
          LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, i64, i32, pointer}));
    }
    LLVM::CallOp::create(host, loc, callee, ValueRange{kernel, blocks, number(i32, blockThreads), list});
    launch.erase();
  }

  // The host's record of a kernel (pmap_cuda_kernel in pmap/cuda.h): the image it is in, its name, its number.
  std::string recordOf(func::FuncOp kernel) {
    std::string name = ("pmap.kernel." + kernel.getName()).str();
    if (module.lookupSymbol(name))
      return name;
    MLIRContext *context = host.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i32 = host.getI32Type();
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    if (!module.lookupSymbol(kernelImageSymbol))
      LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(host.getI8Type(), 0), /*isConstant=*/true,
                             LLVM::Linkage::External, kernelImageSymbol, Attribute());
    std::string text = (kernel.getName() + StringRef("\0", 1)).str();
    auto bytes = LLVM::LLVMArrayType::get(host.getI8Type(), text.size());
    LLVM::GlobalOp::create(top, loc, bytes, /*isConstant=*/true, LLVM::Linkage::Internal, name + ".name",
                           host.getStringAttr(text));
    auto type = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i32});
    auto record =
        LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, Attribute());
    OpBuilder inside(context);
    inside.createBlock(&record.getInitializerRegion());
    Value value = LLVM::UndefOp::create(inside, loc, type);
    Value image = LLVM::AddressOfOp::create(inside, loc, pointer, kernelImageSymbol);
    Value title = LLVM::AddressOfOp::create(inside, loc, pointer, name + ".name");
    Value index = LLVM::ConstantOp::create(inside, loc, i32, host.getI32IntegerAttr(records++));
    value = LLVM::InsertValueOp::create(inside, loc, value, image, ArrayRef<int64_t>{0});
    value = LLVM::InsertValueOp::create(inside, loc, value, title, ArrayRef<int64_t>{1});
    value = LLVM::InsertValueOp::create(inside, loc, value, index, ArrayRef<int64_t>{2});
    LLVM::ReturnOp::create(inside, loc, value);
    return name;
  }

  // A failure in a kernel is recorded for the host; the kernel goes on, with whatever value it has.
  LogicalResult lowerCalls() {
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      if (call.getCallee() != "pmap_rt_fail")
        return call.emitError("the target 'cuda' cannot call '") << call.getCallee() << "' in a kernel yet [E0901]";
      OpBuilder body(call);
      SmallVector<Value> operands(call.getOperands());
      operands[0] = LLVM::PtrToIntOp::create(body, loc, body.getI64Type(), operands[0]);
      LLVM::CallOp::create(body, loc, kernelFailure(kernels), operands);
      call.erase();
    }
    return success();
  }

  ModuleOp module;
  gpu::GPUModuleOp kernels;
  OpBuilder host;
  gpu::LaunchOp launch;
  func::FuncOp function;
  Block *kernelEntry = nullptr;
  Location loc = UnknownLoc::get(module.getContext());
  /// The host's value → the kernel's argument; array → its address, a value of the host; place in shared memory.
  DenseMap<Value, Value> parameters;
  /// The host's values in the order of the kernel's arguments.
  SmallVector<Value> arguments;
  DenseMap<Value, Value> addresses, places;
  DenseMap<Value, SmallVector<Value>> knownStrides;
  llvm::StringMap<func::FuncOp> equal;
  int32_t records = 0;
};

struct OutlineKernelsPass : PassWrapper<OutlineKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernelsPass)
  StringRef getArgument() const final { return "pmap-cuda-outline"; }
  StringRef getDescription() const final { return "Make functions of launches"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, memref::MemRefDialect, gpu::GPUDialect>();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    SmallVector<gpu::LaunchOp> launches;
    module.walk([&](gpu::LaunchOp launch) { launches.push_back(launch); });
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(), kernelsModule);
    Outliner outliner(module, kernels);
    for (gpu::LaunchOp launch : launches)
      if (failed(outliner.outline(launch)))
        return signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createOutlineKernelsPass() { return std::make_unique<OutlineKernelsPass>(); }

} // namespace pmap
