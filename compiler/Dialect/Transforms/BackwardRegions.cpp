// The derivatives of the regions that run at most once per device: scf.if, pmap.map, checkpoints and custom rules.
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/MapResiduals.h"
#include "compiler/Dialect/Transforms/Residuals.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

namespace {

SmallVector<Value> cotangentsOf(Operation *op, CotangentMap &cotangents) {
  return llvm::map_to_vector(op->getResults(), [&](Value result) { return cotangents.lookup(result); });
}

// What the branches of an `if` yield for the elements that they read: what each contributes, and where it goes, with
// null for the zero of a branch that does not read the element. What both yield together twice is yielded once.
struct BranchReads {
  struct Yielded {
    Value values[2];
  };
  SmallVector<Yielded> yielded;
  struct Entry {
    ElementReads::Read read;
    size_t contribution, place;
  };
  SmallVector<Entry> entries;

  explicit BranchReads(ArrayRef<ElementReads> branches) {
    for (auto [side, branch] : llvm::enumerate(branches))
      for (const ElementReads::Read &read : branch.reads) {
        Value contributions[2], places[2];
        contributions[side] = read.contribution;
        places[side] = read.place;
        auto isSame = [&](const ElementReads::Read &other) { return other.isOfSame(read); };
        const auto &others = branches[1 - side].reads;
        if (auto other = llvm::find_if(others, isSame); other != others.end()) {
          if (side == 1)
            continue;
          contributions[1] = other->contribution;
        }
        size_t contribution = add(contributions);
        entries.push_back({read, contribution, read.shifts ? 0 : add(places)});
      }
  }

private:
  size_t add(const Value (&values)[2]) {
    auto known = llvm::find_if(
        yielded, [&](const Yielded &other) { return other.values[0] == values[0] && other.values[1] == values[1]; });
    if (known != yielded.end())
      return known - yielded.begin();
    yielded.push_back({{values[0], values[1]}});
    return yielded.size() - 1;
  }
};

} // namespace

// The same condition chooses which branch is computed again and pulled back. A branch adds to what captured values have
// got so far and yields the sums, so that one that reads a part of an array touches that part alone, and another
// nothing.
LogicalResult Backward::pullIf(scf::IfOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  SmallVector<Value> seeds = cotangentsOf(op, cotangents);
  SmallVector<Value> captures = llvm::filter_to_vector(
      activeCaptures(op), [&](Value capture) { return !elements || !elements->arrays.contains(capture); });
  // The results are known only when the branches are: those are built in an op without results and move on.
  auto scratch = scf::IfOp::create(builder, loc, TypeRange(), op.getCondition(), /*withElseRegion=*/true);
  ElementReads *outer = elements;
  SmallVector<ElementReads, 2> reads(2);
  SmallVector<Value> sums[2], yields[2];
  for (auto [index, from] : llvm::enumerate(op->getRegions())) {
    Block *block = &scratch->getRegion(index).front();
    block->clear();
    if (outer) {
      reads[index].body = outer->body;
      reads[index].arrays = outer->arrays;
      elements = &reads[index];
    }
    OpBuilder inner = OpBuilder::atBlockEnd(block);
    CotangentMap branch(inner, names);
    for (Value capture : captures)
      branch.set(capture, cotangents.lookup(capture));
    IRMapping mapping;
    Kept kept;
    auto results = op.getResults().drop_front(ownResults(op));
    for (auto [value, result] :
         llvm::zip(from.front().getTerminator()->getOperands().take_back(results.size()), results))
      kept.push_back({value, result});
    LogicalResult pulledBranch = recomputeAndPull(from.front(), mapping, seeds, inner, branch, kept);
    elements = outer;
    if (failed(pulledBranch))
      return failure();
    for (Value capture : captures)
      sums[index].push_back(branch.lookup(capture));
  }
  // What both leave alike needs no choice: what a value had, or a result's cotangent that both branches hand on.
  SmallVector<Value> changed;
  for (auto [number, capture] : llvm::enumerate(captures)) {
    if (sums[0][number] == sums[1][number]) {
      cotangents.set(capture, sums[0][number]);
      continue;
    }
    changed.push_back(capture);
    for (size_t index : {0, 1}) {
      OpBuilder inner = OpBuilder::atBlockEnd(&scratch->getRegion(index).front());
      Value sum = sums[index][number];
      yields[index].push_back(sum ? sum : zerosOf(inner, loc, capture.getType()));
    }
  }
  BranchReads together(reads);
  for (auto [index, region] : llvm::enumerate(scratch->getRegions())) {
    OpBuilder inner = OpBuilder::atBlockEnd(&region.front());
    for (const BranchReads::Yielded &one : together.yielded) {
      Value value = one.values[index];
      yields[index].push_back(value ? value : zerosOf(inner, loc, one.values[1 - index].getType()));
    }
    scf::YieldOp::create(inner, loc, yields[index]);
  }
  if (yields[0].empty()) {
    scratch.erase();
    return success();
  }
  auto pulled = scf::IfOp::create(builder, loc, TypeRange(ValueRange(yields[0])), op.getCondition(),
                                  /*withElseRegion=*/true);
  for (auto [region, to] : llvm::zip_equal(scratch->getRegions(), pulled->getRegions()))
    to.takeBody(region);
  scratch.erase();
  for (auto [capture, cotangent] : llvm::zip(changed, pulled.getResults()))
    cotangents.set(capture, cotangent);
  auto results = pulled.getResults().drop_front(changed.size());
  for (BranchReads::Entry &entry : together.entries) {
    entry.read.inBranch = true;
    entry.read.contribution = results[entry.contribution];
    if (!entry.read.shifts)
      entry.read.place = results[entry.place];
    outer->note(builder, loc, entry.read);
  }
  return success();
}

// Through a map (G3): a map over the same mesh computes the body again on the same blocks, save what the forward one
// kept (MapResiduals.h), and pulls the blocks of the results' cotangents back. What a replicated input gets is already
// summed inside, by the transposes of the widens.
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
      Axes vary = unionOf(spec.getAllAxes(), varyOf(seed.getType()));
      blocks.push_back(withVary(cast<RankedTensorType>(yielded.getType()), vary));
    }
  SmallVector<KeptBlock> keptBlocks = keptInMap(op);
  for (const KeptBlock &block : keptBlocks) {
    inputs.push_back(block.result);
    blocks.push_back(block.yielded.getType());
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
  // What is left are the kept blocks.
  Kept kept;
  for (auto [block, argument] : llvm::zip_equal(keptBlocks, seedBlocks)) {
    argument.setLoc(named(block.value.getLoc(), kStoredForDerivative));
    Value found = argument;
    if (found.getType() != block.value.getType())
      found = ReshapeOp::create(inner, loc, cast<RankedTensorType>(block.value.getType()), found);
    kept.push_back({block.value, found});
  }
  CotangentMap local(inner, names);
  if (failed(recomputeAndPull(body, mapping, localSeeds, inner, local, kept)))
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

// A checkpoint is computed again, from its inputs seen through `pmap.opaque`: what the forward computation has in hand
// for itself is then not found to be the same and kept (G4).
LogicalResult Backward::pullCheckpoint(CheckpointOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op->getRegions(), captures);
  IRMapping mapping;
  SmallVector<std::pair<Value, Value>> wanted;
  SmallVector<Value> roots;
  for (Value capture : captures) {
    Value again = capture;
    if (isa<RankedTensorType>(capture.getType()))
      again = OpaqueOp::create(builder, loc, capture.getType(), capture);
    mapping.map(capture, again);
    if (!isActive(capture))
      continue;
    activate(again);
    roots.push_back(again);
    wanted.push_back({capture, again});
  }
  CotangentMap local(builder, names);
  Block &body = op.getBody().front();
  SmallVector<Operation *> copies = cloneForRecomputation(body, builder, mapping, names);
  // The copy of the terminator keeps track of the values while ops are replaced.
  Operation *yield = builder.clone(*body.getTerminator(), mapping);
  prepareForward(copies, roots, names);
  SmallVector<Value> yielded(yield->getOperands());
  yield->erase();
  spread(copies);
  for (auto [value, seed] : llvm::zip_equal(yielded, cotangentsOf(op, cotangents)))
    if (isActive(value))
      local.add(loc, value, seed);
  if (failed(run(copies, builder, local)))
    return failure();
  for (auto [capture, again] : wanted)
    cotangents.add(loc, capture, local.lookup(again));
  return success();
}

// The program's own rule: its forward part has been computed in the function's place (Residuals.h), or is here, in a
// body that is computed again.
LogicalResult Backward::pullCustom(CustomVjpOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  if (!activeCaptures(op).empty())
    return op.emitError()
           << "a function with a derivative of its own uses a value from outside that is differentiated as "
              "well; hand it over as an argument [E0813]";
  IRMapping mapping;
  Block &forward = op.getForward().front(), &backward = op.getBackward().front();
  mapping.map(forward.getArguments(), op.getInputs());
  SmallVector<Operation *> copies = cloneForRecomputation(forward, builder, mapping, names);
  SmallVector<Value> arguments;
  for (Value residual : forward.getTerminator()->getOperands().drop_front(op.getNumResults()))
    arguments.push_back(mapping.lookupOrDefault(residual));
  for (Value result : op.getResults())
    if (isDifferentiable(result.getType()))
      arguments.push_back(cotangents.lookupOrZero(loc, result));
  mapping.map(backward.getArguments(), arguments);
  cloneForRecomputation(backward, builder, mapping, names);
  auto own = op->getAttrOfType<IntegerAttr>(kOwnOperandsAttr);
  auto results = backward.getTerminator()->getOperands();
  for (Value input : op.getInputs().take_front(own ? own.getInt() : op.getInputs().size())) {
    if (!isDifferentiable(input.getType()))
      continue;
    if (isActive(input))
      cotangents.add(loc, input, mapping.lookupOrDefault(results.front()));
    results = results.drop_front();
  }
  return success();
}
