// The derivatives of the regions that run at most once per device: scf.if and pmap.map.
#include "compiler/Dialect/Transforms/Backward.h"

using namespace mlir;
using namespace pmap;

namespace {

SmallVector<Value> cotangentsOf(Operation *op, CotangentMap &cotangents) {
  return llvm::map_to_vector(op->getResults(), [&](Value result) { return cotangents.lookup(result); });
}

} // namespace

// The same condition chooses which branch is computed again and pulled back; captured values the branch does not read
// get zeros.
LogicalResult Backward::pullIf(scf::IfOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  SmallVector<Value> seeds = cotangentsOf(op, cotangents);
  SmallVector<Value> captures = activeCaptures(op);
  if (captures.empty())
    return success();
  auto pulled =
      scf::IfOp::create(builder, loc, TypeRange(ValueRange(captures)), op.getCondition(), /*withElseRegion=*/true);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), pulled->getRegions())) {
    Block *block = &to.front();
    OpBuilder inner = OpBuilder::atBlockEnd(block);
    CotangentMap branch(inner, names);
    IRMapping mapping;
    if (failed(recomputeAndPull(from.front(), mapping, seeds, inner, branch)))
      return failure();
    SmallVector<Value> yielded;
    for (Value capture : captures)
      yielded.push_back(branch.lookupOrZero(loc, capture));
    scf::YieldOp::create(inner, loc, yielded);
  }
  for (auto [capture, cotangent] : llvm::zip_equal(captures, pulled.getResults()))
    cotangents.add(loc, capture, cotangent);
  return success();
}

// Through a map (G3): a map over the same mesh computes the body again on the same blocks, and pulls the blocks of the
// results' cotangents back. What a replicated input gets is already summed inside, by the transposes of the widens.
LogicalResult Backward::pullMap(MapOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  SmallVector<Value> seeds = cotangentsOf(op, cotangents);
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();

  SmallVector<Value> inputs(op.getInputs());
  SmallVector<Type> blocks = llvm::map_to_vector(op.getBlocks(), [](Value block) { return block.getType(); });
  for (auto [seed, yielded] : llvm::zip_equal(seeds, yield->getOperands()))
    if (seed) {
      inputs.push_back(seed);
      SpecAttr spec = cast<DistType>(seed.getType()).getSpec();
      blocks.push_back(withVary(cast<RankedTensorType>(yielded.getType()), spec.getAllAxes()));
    }
  SmallVector<Value> wanted = llvm::filter_to_vector(op.getInputs(), [&](Value input) { return isActive(input); });
  auto pulled = MapOp::create(builder, loc, TypeRange(ValueRange(wanted)), op.getMesh(), op.getSizes(),
                              op.getSizeArguments(), inputs, blocks);

  OpBuilder inner = OpBuilder::atBlockEnd(&pulled.getBody().front());
  IRMapping mapping;
  mapping.map(body.getArguments(), pulled.getBody().front().getArguments().take_front(body.getNumArguments()));
  SmallVector<Value> localSeeds;
  auto seedBlocks = pulled.getBody().front().getArguments().drop_front(body.getNumArguments());
  for (auto [seed, yielded] : llvm::zip_equal(seeds, yield->getOperands())) {
    localSeeds.push_back(Value());
    if (!seed)
      continue;
    // A block of an invariant value that was laid out along an axis: its copies' cotangents add up (G3).
    localSeeds.back() = withVarianceOf(inner, loc, seedBlocks.front(), yielded.getType());
    seedBlocks = seedBlocks.drop_front();
  }
  CotangentMap local(inner, names);
  if (failed(recomputeAndPull(body, mapping, localSeeds, inner, local)))
    return failure();
  SmallVector<Value> yielded;
  for (auto [input, block] : llvm::zip_equal(op.getInputs(), op.getBlocks()))
    if (isActive(input))
      yielded.push_back(local.lookupOrZero(loc, mapping.lookup(block)));
  YieldOp::create(inner, loc, yielded);
  // The copy binds the same local sizes; a symbol is unique in its module.
  names.rename(pulled.getOperation());

  for (auto [input, cotangent] : llvm::zip_equal(wanted, pulled.getResults()))
    cotangents.add(loc, input, cotangent);
  return success();
}
