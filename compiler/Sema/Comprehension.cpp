// `[for i in n, j in m: x[i, j] * y[j]]`: one parallel kernel, `pmap.for_each`.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

namespace {

/// One range: the index is `low + position`, for positions below `extent`.
struct Axis {
  Size low, extent;
  bool known = false;
  SourceRange range;
};

/// A place where an index alone picks from a whole dimension, so that its range can be read off.
struct Use {
  const ast::Expr *base;
  unsigned position; // among the subscripts that take a dimension, from the front
  int fromEnd = 0;   // or from the end, when a `...` comes before
  SourceRange range;
};

void findUses(const ast::Expr &body, StringRef index, SmallVectorImpl<Use> &uses) {
  ast::walk(body, [&](const ast::Expr &e) {
    // An inner comprehension or function may bind the name anew; what it indexes then says nothing about ours.
    if (const auto *inner = dyn_cast<ast::ComprehensionExpr>(&e))
      if (any_of(inner->ranges, [&](const ast::ComprehensionRange &r) { return r.index.text == index; }))
        return false;
    if (const auto *lambda = dyn_cast<ast::LambdaExpr>(&e))
      if (any_of(lambda->params, [&](const ast::Param &p) { return p.name.text == index; }))
        return false;
    const auto *access = dyn_cast<ast::IndexExpr>(&e);
    if (!access)
      return true;
    unsigned total = 0, position = 0;
    for (const ast::Subscript &s : access->subscripts)
      total += s.kind == ast::Subscript::At || s.kind == ast::Subscript::Slice;
    bool afterEllipsis = false;
    for (const ast::Subscript &s : access->subscripts) {
      afterEllipsis |= s.kind == ast::Subscript::Ellipsis;
      if (s.kind == ast::Subscript::At)
        if (const auto *name = dyn_cast<ast::NameExpr>(s.index.get()); name && name->name == index)
          uses.push_back(
              {access->base.get(), position, afterEllipsis ? static_cast<int>(total - position) : 0, access->range});
      position += s.kind == ast::Subscript::At || s.kind == ast::Subscript::Slice;
    }
    return true;
  });
}

/// The name of an index of the comprehension within one of its ranges, where it means nothing of its own; or null.
const ast::NameExpr *namedIndex(const ast::Expr &range, const ast::ComprehensionExpr &e) {
  const ast::NameExpr *found = nullptr;
  ast::walk(range, [&](const ast::Expr &part) {
    if (isa<ast::ComprehensionExpr>(part) || isa<ast::LambdaExpr>(part) || isa<ast::BlockExpr>(part))
      return false; // may bind the name
    if (const auto *name = dyn_cast<ast::NameExpr>(&part))
      if (any_of(e.ranges, [&](const ast::ComprehensionRange &r) { return r.index.text == name->name; }))
        found = name;
    return !found;
  });
  return found;
}

} // namespace

Value Elaborator::comprehensionExpression(const ast::ComprehensionExpr &e) {
  Scope saved = scope;
  SmallVector<Axis> axes(e.ranges.size());
  bool failed = false;

  // Ranges that were written.
  for (auto [axis, written] : zip(axes, e.ranges)) {
    axis.range = written.range ? written.range->range : written.index.range;
    if (!written.range)
      continue;
    if (const ast::NameExpr *index = namedIndex(*written.range, e); index && !lookup(scope, index->name)) {
      error(Code::E0201, index->range, "no name '" + index->name + "' is known here")
          .note(index->range, "the ranges of a comprehension do not see each other's indices: its array is rectangular")
          .note(SourceRange(),
                "let the range cover all, and choose in the body, as in '[for i in n, j in n: if j < i { "
                "x[j] } else { 0 }]'; or use loops that assign 'y[i, j]'");
      failed = true;
      continue;
    }
    Value value = expression(*written.range);
    if (value.isError()) {
      failed = true;
      continue;
    }
    std::optional<Size> low = Size(0), high;
    if (const auto *bounds = value.as<RangeValue>()) {
      low = sizeOf(bounds->low, "the start of a range");
      high = sizeOf(bounds->high, "the end of a range");
    } else {
      high = sizeOf(value, "the range of a comprehension");
    }
    if (!low || !high) {
      failed = true;
      continue;
    }
    axis.low = *low;
    axis.extent = *high - *low;
    if (!provablyNonNegative(axis.extent))
      axis.extent = Size::max(Size(0), axis.extent);
    axis.known = true;
  }

  // Ranges that were left out: the whole dimensions that their indices pick from.
  for (auto [k, axis, written] : enumerate(axes, e.ranges)) {
    if (written.range)
      continue;
    SmallVector<Use> uses;
    findUses(*e.body, written.index.str(), uses);
    SourceRange firstUse;
    for (const Use &use : uses) {
      SmallVector<Size> sizes;
      bool poisoned = false;
      bool ok = dryRun([&] {
        for (const ast::ComprehensionRange &other : e.ranges) {
          SizeSymbol &symbol = newSymbol(other.index.str(), other.index.range, "an index");
          symbol.ssa = mlir::arith::ConstantIndexOp::create(builder, loc(other.index.range), 0);
          scope = bind(scope, other.index.text, Value::size(Size::symbol(symbol.name), other.index.range),
                       other.index.range);
        }
        Value base = expression(*use.base);
        poisoned = base.isError();
        if (!poisoned)
          sizes = sizesOf(base);
      });
      // What it indexes already failed, and was reported: nothing more to say.
      failed |= ok && poisoned;
      if (!ok)
        continue; // a name from inside the body, or an error that the body reports itself
      unsigned dim = use.fromEnd ? sizes.size() - use.fromEnd : use.position;
      if (dim >= sizes.size())
        continue;
      if (!axis.known) {
        axis.extent = sizes[dim];
        axis.known = true;
        firstUse = use.range;
      } else if (axis.extent != sizes[dim] && assumedEqual(axis.extent, sizes[dim])) {
        failed = true;
        break;
      } else if (axis.extent != sizes[dim]) {
        Report report = error(Code::E0416, use.range,
                              "the range of '" + written.index.text + "' is " + render(axis.extent) +
                                  " by one use and " + render(sizes[dim]) + " by another");
        report.note(firstUse, "here it runs over " + render(axis.extent));
        noteBirths(report, axis.extent);
        noteBirths(report, sizes[dim]);
        report.fix(written.index.range.endPoint(), " in " + render(axis.extent));
        failed = true;
        break;
      }
    }
    if (!axis.known && !failed) {
      error(Code::E0416, written.index.range,
            "nothing in the body shows the range of '" + written.index.text + "': no array is indexed by it alone")
          .fix(written.index.range.endPoint(), " in n");
      failed = true;
    }
  }
  if (failed) {
    scope = saved;
    return Value::error();
  }

  // The body, built apart until the types of its results are known.
  mlir::Operation *container = scratch(e.range);
  mlir::Region &region = container->getRegion(0);
  mlir::Block &block = region.emplaceBlock();
  SmallVector<mlir::Value> bounds;
  SmallVector<Size> outer;
  VarySet boundVary;
  mlir::OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  builder.setInsertionPoint(container);
  for (const Axis &axis : axes) {
    bindSymbolsOf(axis.extent);
    bounds.push_back(indexOf(axis.extent, axis.range));
    outer.push_back(axis.extent);
    boundVary = unionOf(boundVary, unionOf(varyOf(axis.extent), varyOf(axis.low)));
  }
  builder.restoreInsertionPoint(here);
  for (auto [axis, written] : zip(axes, e.ranges)) {
    mlir::BlockArgument argument = block.addArgument(builder.getIndexType(), loc(written.index.range));
    SizeSymbol &symbol = newSymbol(written.index.text == "_" ? "i" : written.index.str(), written.index.range,
                                   "an index of this comprehension");
    symbol.ssa = argument;
    symbol.low = Size(0);
    symbol.high = axis.extent;
    symbol.vary = boundVary;
    if (written.index.text != "_")
      scope = bind(scope, written.index.text, Value::size(axis.low + Size::symbol(symbol.name), written.index.range),
                   written.index.range);
  }
  size_t factsBefore = facts.size();
  for (const Axis &axis : axes)
    facts.push_back(axis.extent - Size(1)); // the body runs only where there is an element
  VarId savedFirst = std::exchange(firstAssignable, nextVar);
  std::optional<VarId> savedFlag = std::exchange(breakFlag, std::nullopt);
  Store savedStore = store;
  Value body;
  SmallVector<Value> leaves, arrays;
  SmallVector<mlir::Value> yields;
  if (!boundVary.empty())
    varyingRegions.push_back(
        {&region, boundVary, e.ranges.front().index.range, "the range of this comprehension", mlir::Value()});
  inBlock(&block, [&] {
    body = expression(*e.body);
    if (body.isError())
      return;
    flatten(body, leaves);
    if (leaves.empty()) {
      error(Code::E0610, e.body->range, "the body of a comprehension needs a value: expected an array, got no value");
      body = Value::error();
      return;
    }
    for (const Value &leaf : leaves) {
      Value made = materialize(leaf);
      if (made.isError()) {
        body = made;
        return;
      }
      arrays.push_back(made);
      yields.push_back(widen(made.as<ArrayValue>()->ssa, boundVary));
    }
    for (mlir::Value yield : yields)
      for (const Size &size : sizesOf(yield))
        for (const std::string &name : size.symbols())
          if (SizeSymbol *symbol = findSymbol(name);
              symbol && symbol->ssa && region.isAncestor(symbol->ssa.getParentRegion())) {
            Report report = error(Code::E0417, e.body->range,
                                  "the shape " + render(sizesOf(yield)) +
                                      " differs from element to element: expected one shape for all");
            noteBirths(report, size);
            body = Value::error();
            return;
          }
    YieldOp::create(builder, loc(e.body->range), yields);
  });
  if (!boundVary.empty())
    varyingRegions.pop_back();
  facts.truncate(factsBefore);
  firstAssignable = savedFirst;
  breakFlag = savedFlag;
  store = savedStore;
  scope = saved;
  if (body.isError()) {
    region.dropAllReferences();
    eraseScratch(container);
    return Value::error();
  }
  SmallVector<mlir::Type> types;
  for (auto [array, yield] : zip(arrays, yields)) {
    SmallVector<Size> sizes(outer);
    append_range(sizes, sizesOf(yield));
    types.push_back(tensorType(array.as<ArrayValue>()->dtype, sizes, varyOf(yield)));
  }
  auto op = ForEachOp::create(builder, loc(e.range), types, bounds);
  op.getBody().takeBody(region);
  eraseScratch(container);
  SmallVector<Value> results;
  for (auto [array, result] : zip(arrays, op.getResults()))
    results.push_back(Value::array(result, array.as<ArrayValue>()->dtype, e.range));
  return rebuild(body, results);
}

} // namespace pmap::sema
