// Products of two matrices as calls of the runtime's library.

#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace pmap {

// Of many products, each with fewer multiplications than this is over before a call of the library would be.
static constexpr int64_t generatedPart = 1 << 13;

namespace {
// The roles of the loops, and of the operands: c[i, j] += a[i, k] * b[k, j]. Where there are more loops, `outer` ones
// number products whose results are apart, `summed` ones products that add up.
struct Roles {
  unsigned i, j, k;
  unsigned a, b;
  SmallVector<unsigned> outer, summed;

  bool isOneProduct() const { return outer.empty() && summed.empty(); }
};
} // namespace

// Whether the body multiplies the two inputs and adds the product to the output.
static bool multipliesAndAdds(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getBody()->getOperations().size() != 3)
    return false;
  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  if (!element.isF32() && !element.isF64())
    return false;
  for (Value input : op.getDpsInputs())
    if (!isa<MemRefType>(input.getType()) || getElementTypeOrSelf(input.getType()) != element)
      return false;
  Kernel kernel(op);
  if (kernel.combiners.empty() || !isa<arith::AddFOp>(kernel.combiners[0].op))
    return false;
  auto product = kernel.combiners[0].value.getDefiningOp<arith::MulFOp>();
  Block *body = op.getBody();
  if (!product)
    return false;
  Value left = product.getLhs(), right = product.getRhs();
  return (left == body->getArgument(0) && right == body->getArgument(1)) ||
         (left == body->getArgument(1) && right == body->getArgument(0));
}

// The loops that a map walks, one per dimension; nothing when a dimension is anything else or a loop comes twice.
static std::optional<SmallVector<unsigned>> loopsOf(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr result : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || llvm::is_contained(loops, dim.getPosition()))
      return std::nullopt;
    loops.push_back(dim.getPosition());
  }
  return loops;
}

// The loop along which neighbours are neighbours in memory, if any.
static std::optional<unsigned> unitLoop(Value buffer, ArrayRef<unsigned> loops) {
  auto [strides, offset] = cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  if (loops.empty() || strides.back() != 1)
    return std::nullopt;
  return loops.back();
}

static std::optional<Roles> matchRoles(linalg::GenericOp op) {
  if (!multipliesAndAdds(op))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<SmallVector<unsigned>> walked;
  for (AffineMap map : maps) {
    auto loops = loopsOf(map);
    if (!loops)
      return std::nullopt;
    walked.push_back(*loops);
  }
  std::optional<unsigned> last = unitLoop(op.getDpsInits()[0], walked[2]);
  if (!last)
    return std::nullopt;
  // The result's rows lie in memory as those of b do: b is the input that knows their loop, and a is the one that does
  // not.
  Roles roles;
  roles.j = *last;
  if (llvm::is_contained(walked[0], *last) == llvm::is_contained(walked[1], *last))
    return std::nullopt;
  roles.b = llvm::is_contained(walked[0], *last) ? 0 : 1;
  roles.a = 1 - roles.b;
  auto in = [&](unsigned operand, unsigned loop) { return llvm::is_contained(walked[operand], loop); };
  SmallVector<unsigned> rows, sums;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    bool reduced = op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
    if (reduced && !(in(roles.a, loop) && in(roles.b, loop)))
      return std::nullopt;
    if (reduced)
      sums.push_back(loop);
    else if (in(roles.a, loop) && !in(roles.b, loop))
      rows.push_back(loop);
    else if (loop != roles.j)
      roles.outer.push_back(loop);
  }
  if (rows.empty())
    return std::nullopt;
  // The library wants a unit stride in each operand: where the innermost loop of one is a row or a sum, that is i or k.
  std::optional<unsigned> unitOfA = unitLoop(op->getOperand(roles.a), walked[roles.a]);
  std::optional<unsigned> unitOfB = unitLoop(op->getOperand(roles.b), walked[roles.b]);
  roles.i = unitOfA && llvm::is_contained(rows, *unitOfA) ? *unitOfA : rows.back();
  std::optional<unsigned> sum;
  for (std::optional<unsigned> unit : {unitOfA, unitOfB})
    if (unit && llvm::is_contained(sums, *unit)) {
      if (sum && *sum != *unit)
        return std::nullopt;
      sum = unit;
    }
  roles.k = sum ? *sum : sums.back();
  for (unsigned loop : rows)
    if (loop != roles.i)
      roles.outer.push_back(loop);
  for (unsigned loop : sums)
    if (loop != roles.k)
      roles.summed.push_back(loop);
  // One product copies an operand without a unit stride first; for the parts of a batch that would be dear.
  bool direct = (unitOfA == roles.i || unitOfA == roles.k) && (unitOfB == roles.j || unitOfB == roles.k);
  if (!roles.isOneProduct() && !direct)
    return std::nullopt;
  return roles;
}

// The product of the extents of some loops, where all are known.
static std::optional<int64_t> staticWork(linalg::GenericOp op, ArrayRef<unsigned> loops) {
  Kernel kernel(op);
  int64_t work = 1;
  for (unsigned loop : loops) {
    int64_t extent = kernel.staticExtent(loop);
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    work *= extent;
  }
  return work;
}

bool isMatrixProduct(linalg::GenericOp op) {
  if (op->getParentOfType<scf::ForallOp>())
    return false;
  std::optional<Roles> roles = matchRoles(op);
  if (!roles)
    return false;
  std::optional<int64_t> whole = staticWork(op, llvm::to_vector(llvm::seq(op.getNumLoops())));
  std::optional<int64_t> part = staticWork(op, {roles->i, roles->j, roles->k});
  return !(whole && *whole <= generatedProduct) && !(!roles->isOneProduct() && part && *part < generatedPart);
}

bool isSumOfProducts(linalg::GenericOp op, ArrayRef<scf::ForOp> loops) {
  return !loops.empty() && !op->getParentOfType<scf::ForallOp>() && matchRoles(op);
}

Value worthCalling(OpBuilder &builder, linalg::GenericOp op) {
  Roles roles = *matchRoles(op);
  if (roles.isOneProduct() || staticWork(op, {roles.i, roles.j, roles.k}))
    return Value();
  Location loc = op.getLoc();
  Kernel kernel(op);
  Value work = arith::ConstantIndexOp::create(builder, loc, 1);
  for (unsigned loop : {roles.i, roles.j, roles.k})
    work = builder.createOrFold<arith::MulIOp>(loc, work, kernel.extent(builder, loc, loop));
  Value least = arith::ConstantIndexOp::create(builder, loc, generatedPart);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, work, least);
}

namespace {

// An array as the library wants it: the address of its first element and a stride per loop, 0 along those that it does
// not know.
struct Operand {
  Value address;
  SmallVector<Value> strides;
};

class ProductEmitter {
public:
  ProductEmitter(OpBuilder &builder, Location loc) : builder(builder), loc(loc), converter(builder.getContext()) {}

  Operand operand(Value buffer, AffineMap map) {
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    auto type = cast<MemRefType>(buffer.getType());
    Value descriptor =
        UnrealizedConversionCastOp::create(builder, loc, converter.convertType(type), buffer).getResult(0);
    Value base = LLVM::ExtractValueOp::create(builder, loc, descriptor, ArrayRef<int64_t>{1});
    Value address = LLVM::GEPOp::create(builder, loc, base.getType(), type.getElementType(), base,
                                        ArrayRef<LLVM::GEPArg>{toI64(metadata.getOffset())});
    Operand result{address, SmallVector<Value>(map.getNumDims(), i64(0))};
    for (auto [position, loop] : llvm::enumerate(*loopsOf(map)))
      result.strides[loop] = toI64(metadata.getStrides()[position]);
    return result;
  }

  Value i64(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }
  Value toI64(Value index) { return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index); }

private:
  OpBuilder &builder;
  Location loc;
  LLVMTypeConverter converter;
};

} // namespace

// The function of the runtime, declared once.
static LLVM::LLVMFuncOp declare(OpBuilder &builder, linalg::GenericOp op, StringRef name, ValueRange arguments) {
  auto module = op->getParentOfType<ModuleOp>();
  if (auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return callee;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), llvm::to_vector(arguments.getTypes()));
  return LLVM::LLVMFuncOp::create(builder, op.getLoc(), name, type);
}

// The table that pmap_rt_gemm_batch_* reads: four numbers per loop, on the stack of the function.
static Value emitPlan(OpBuilder &builder, Location loc, func::FuncOp function, ArrayRef<SmallVector<Value>> rows) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value table;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    Value count = arith::ConstantIntOp::create(builder, loc, rows.size() * 4, 64);
    table = LLVM::AllocaOp::create(builder, loc, pointer, builder.getI64Type(), count, 8);
  }
  int32_t place = 0;
  for (const SmallVector<Value> &row : rows)
    for (Value number : row) {
      Value address = LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(), table,
                                          ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(place++)});
      LLVM::StoreOp::create(builder, loc, number, address);
    }
  return table;
}

// The rows of the plan for loops around the product: what a trip adds to the place in each operand.
static SmallVector<SmallVector<Value>> emitLoops(OpBuilder &builder, linalg::GenericOp op, ArrayRef<scf::ForOp> loops,
                                                 const Roles &roles) {
  Location loc = op.getLoc();
  ProductEmitter emitter(builder, loc);
  SmallVector<Value> begins = llvm::map_to_vector(loops, [](scf::ForOp loop) { return loop.getLowerBound(); });
  auto offsets = [&](ArrayRef<Value> counters) {
    SmallVector<Value> operands = operandsAt(builder, op, loops, counters);
    return llvm::map_to_vector(SmallVector<unsigned>{roles.a, roles.b, 2}, [&](unsigned operand) -> Value {
      return memref::ExtractStridedMetadataOp::create(builder, loc, operands[operand]).getOffset();
    });
  };
  SmallVector<Value> first = offsets(begins);
  SmallVector<SmallVector<Value>> rows;
  // The outermost loop comes first, and the others in order.
  for (unsigned index = loops.size(); index-- > 0;) {
    scf::ForOp loop = loops[index];
    Value distance = builder.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(), loop.getLowerBound());
    Value trips = builder.createOrFold<arith::CeilDivSIOp>(loc, distance, loop.getStep());
    trips = builder.createOrFold<arith::MaxSIOp>(loc, trips, arith::ConstantIndexOp::create(builder, loc, 0));
    SmallVector<Value> counters = begins;
    counters[index] = builder.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), loop.getStep());
    rows.push_back({emitter.toI64(trips)});
    for (auto [before, after] : llvm::zip(first, offsets(counters)))
      rows.back().push_back(emitter.toI64(builder.createOrFold<arith::SubIOp>(loc, after, before)));
  }
  return rows;
}

void emitMatrixProduct(OpBuilder &builder, linalg::GenericOp op, ArrayRef<scf::ForOp> loops) {
  Location loc = op.getLoc();
  Roles roles = *matchRoles(op);
  OpBuilder::InsertionGuard guard(builder);
  linalg::GenericOp first;
  if (!loops.empty()) {
    builder.setInsertionPoint(loops.back());
    IRMapping mapping;
    mapping.map(op->getOperands(), operandsAt(builder, op, loops, llvm::map_to_vector(loops, [](scf::ForOp loop) {
                                                return loop.getLowerBound();
                                              })));
    first = cast<linalg::GenericOp>(builder.clone(*op, mapping));
  }
  Kernel kernel(first ? first : op);
  ProductEmitter emitter(builder, loc);
  Operand a = emitter.operand(kernel.operand(roles.a), kernel.maps[roles.a]);
  Operand b = emitter.operand(kernel.operand(roles.b), kernel.maps[roles.b]);
  Operand c = emitter.operand(kernel.operand(2), kernel.maps[2]);
  auto extent = [&](unsigned loop) { return emitter.toI64(kernel.extent(builder, loc, loop)); };
  Value accumulate = arith::ConstantIntOp::create(builder, loc, op->hasAttr(startsFresh) ? 0 : 1, 32);
  bool single = getElementTypeOrSelf(op.getDpsInits()[0].getType()).isF32();
  SmallVector<Value> arguments;
  std::string name;
  if (roles.isOneProduct() && loops.empty()) {
    name = single ? "pmap_rt_gemm_f32" : "pmap_rt_gemm_f64";
    for (unsigned loop : {roles.i, roles.j, roles.k})
      arguments.push_back(extent(loop));
    arguments.append({a.address, a.strides[roles.i], a.strides[roles.k], b.address, b.strides[roles.k],
                      b.strides[roles.j], c.address, c.strides[roles.i], accumulate});
  } else {
    name = single ? "pmap_rt_gemm_batch_f32" : "pmap_rt_gemm_batch_f64";
    auto row = [&](unsigned loop) -> SmallVector<Value> {
      return {extent(loop), a.strides[loop], b.strides[loop], c.strides[loop]};
    };
    SmallVector<SmallVector<Value>> rows{row(roles.i), row(roles.j), row(roles.k)};
    for (unsigned loop : roles.outer)
      rows.push_back(row(loop));
    if (!loops.empty())
      llvm::append_range(rows, emitLoops(builder, op, loops, roles));
    for (unsigned loop : roles.summed)
      rows.push_back(row(loop));
    auto number = [&](size_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); };
    Value plan = emitPlan(builder, loc, op->getParentOfType<func::FuncOp>(), rows);
    arguments = {plan,
                 number(roles.outer.size()),
                 number(roles.summed.size() + loops.size()),
                 a.address,
                 b.address,
                 c.address,
                 accumulate};
  }
  LLVM::CallOp::create(builder, loc, declare(builder, op, name, arguments), arguments);
  if (first)
    first.erase();
}

} // namespace pmap
