// Nests of tuples and records: their leaves, `with`, and the builtins that go leaf by leaf.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

void Elaborator::flatten(const Value &value, SmallVectorImpl<Value> &leaves) const {
  if (const auto *tuple = value.as<TupleValue>()) {
    for (const Value &element : tuple->elements)
      flatten(element, leaves);
    return;
  }
  leaves.push_back(value);
}

static Value rebuildFrom(const Value &like, ArrayRef<Value> &leaves) {
  if (const auto *tuple = like.as<TupleValue>()) {
    SmallVector<Value, 4> elements;
    for (const Value &element : tuple->elements)
      elements.push_back(rebuildFrom(element, leaves));
    return Value::record(std::move(elements), tuple->names, like.range(), tuple->typeName);
  }
  Value leaf = leaves.front();
  leaves = leaves.drop_front();
  return leaf;
}

Value Elaborator::rebuild(const Value &like, ArrayRef<Value> leaves) const {
  for (const Value &leaf : leaves)
    if (!leaf || leaf.isError())
      return Value::error();
  return rebuildFrom(like, leaves);
}

void Elaborator::leafNames(const Value &value, StringRef prefix, SmallVectorImpl<std::string> &names) const {
  const auto *tuple = value.as<TupleValue>();
  if (!tuple) {
    names.push_back(prefix.str());
    return;
  }
  for (auto [i, element] : enumerate(tuple->elements)) {
    std::string part = tuple->isRecord() ? tuple->names[i] : std::to_string(i);
    leafNames(element, prefix.empty() ? part : (prefix + "." + part).str(), names);
  }
}

bool Elaborator::sameForm(const Value &a, const Value &b) const {
  const auto *x = a.as<TupleValue>(), *y = b.as<TupleValue>();
  if (!x || !y)
    return !x && !y;
  if (x->elements.size() != y->elements.size() || x->names != y->names)
    return false;
  for (auto [p, q] : zip(x->elements, y->elements))
    if (!sameForm(p, q))
      return false;
  return true;
}

Value Elaborator::withExpression(const ast::WithExpr &e) {
  Value base = expression(*e.record);
  SmallVector<std::pair<const ast::NamedExpr *, Value>> changes;
  bool failed = base.isError();
  for (const ast::NamedExpr &field : e.fields) {
    changes.push_back({&field, expression(*field.value)});
    failed |= changes.back().second.isError();
  }
  if (failed)
    return Value::error();
  const auto *record = base.as<TupleValue>();
  if (!record || !record->isRecord())
    return error(Code::E0310, e.record->range,
                 "`with` changes fields of a record, got " + (isArrayLike(base) ? render(base) : describeKind(base)));
  SmallVector<Value, 4> elements = record->elements;
  for (auto &[field, value] : changes) {
    int position = record->find(field->name.text);
    if (position < 0)
      return error(Code::E0310, field->name.range,
                   "expected a field of " + render(base) + ", got '" + field->name.text + "'");
    elements[position] = value;
  }
  return Value::record(std::move(elements), record->names, e.range, record->typeName);
}

//===----------------------------------------------------------------------===//
// map_leaves, ravel, unravel
//===----------------------------------------------------------------------===//

static Value mapLeaves(CallContext &c) {
  Elaborator &e = c.e;
  const Value &function = c["f"];
  const auto *trees = c["trees"].as<TupleValue>();
  if (trees->elements.empty())
    return e.error(Code::E0501, c.range, "'map_leaves' needs a function and at least one value");
  const Value &first = trees->elements.front();
  SmallVector<SmallVector<Value>> leaves;
  for (const Value &tree : trees->elements) {
    if (!e.sameForm(first, tree))
      return e
          .error(Code::E0312, tree.range(),
                 "'map_leaves' zips values of one form: expected the form of " + e.render(first) + ", got " +
                     e.render(tree))
          .note(first.range(), "the first one");
    e.flatten(tree, leaves.emplace_back());
  }
  SmallVector<Value> results;
  for (size_t i = 0; i < leaves.front().size(); ++i) {
    SmallVector<Value> arguments;
    for (const auto &tree : leaves)
      arguments.push_back(tree[i]);
    results.push_back(e.apply(function, arguments, c.range));
    if (results.back().isError())
      return Value::error();
  }
  return e.rebuild(first, results);
}

/// The leaves of a nest as arrays of one dtype; empty (reported) otherwise.
static std::optional<SmallVector<Value>> arraysOf(Elaborator &e, const Value &tree, StringRef what, SourceRange range) {
  SmallVector<Value> leaves;
  e.flatten(tree, leaves);
  if (leaves.empty()) {
    e.error(Code::E0303, tree.range(), what + ": expected arrays, got no value");
    return std::nullopt;
  }
  std::optional<DType> dtype = e.commonDType(leaves, range, what);
  if (!dtype)
    return std::nullopt;
  for (Value &leaf : leaves)
    if ((leaf = e.materialize(leaf, dtype)).isError())
      return std::nullopt;
  return leaves;
}

static Size countOf(Elaborator &e, const Value &array) {
  Size count(1);
  for (const Size &size : e.sizesOf(array))
    count *= size;
  return count;
}

static Value ravel(CallContext &c) {
  Elaborator &e = c.e;
  std::optional<SmallVector<Value>> leaves = arraysOf(e, c["tree"], "'ravel'", c.range);
  if (!leaves)
    return Value::error();
  DType dtype = leaves->front().as<ArrayValue>()->dtype;
  VarySet vary;
  for (const Value &leaf : *leaves)
    vary = unionOf(vary, e.varyOf(leaf));
  SmallVector<mlir::Value> parts;
  for (const Value &leaf : *leaves) {
    mlir::Value part = e.widen(leaf.as<ArrayValue>()->ssa, vary);
    auto flat = e.tensorType(dtype, {countOf(e, leaf)}, vary);
    parts.push_back(part.getType() == flat ? part
                                           : ReshapeOp::create(e.builder, e.loc(c.range), flat, part).getResult());
  }
  mlir::Value whole =
      parts.size() == 1 ? parts.front() : ConcatOp::create(e.builder, e.loc(c.range), parts, 0).getResult();
  return Value::array(whole, dtype, c.range);
}

static Value unravel(CallContext &c) {
  Elaborator &e = c.e;
  std::optional<SmallVector<Value>> leaves = arraysOf(e, c["like"], "'unravel'", c.range);
  if (!leaves)
    return Value::error();
  DType dtype = leaves->front().as<ArrayValue>()->dtype;
  Value vector = e.materialize(c["v"], dtype);
  const auto *array = vector.as<ArrayValue>();
  if (!array)
    return Value::error();
  if (e.rankOf(vector) != 1)
    return e.error(Code::E0403, vector.range(), "'unravel' takes a vector, got " + e.render(vector));
  Size total(0);
  for (const Value &leaf : *leaves)
    total += countOf(e, leaf);
  if (!e.expectEqual(total, e.sizesOf(vector).front(), vector.range(),
                     "'unravel': expected a vector of " + e.render(total) + " elements, got " + e.render(vector)))
    return Value::error();
  VarySet vary = e.varyOf(vector);
  Size offset(0);
  SmallVector<Value> parts;
  for (const Value &leaf : *leaves) {
    Size count = countOf(e, leaf);
    mlir::Value part = SliceOp::create(e.builder, e.loc(c.range), e.tensorType(array->dtype, {count}, vary), array->ssa,
                                       mlir::ValueRange{e.indexOf(offset, c.range)}, /*inBounds=*/true);
    auto shape = e.tensorType(array->dtype, e.sizesOf(leaf), vary);
    if (part.getType() != shape)
      part = ReshapeOp::create(e.builder, e.loc(c.range), shape, part);
    parts.push_back(Value::array(part, array->dtype, c.range));
    offset += count;
  }
  return e.rebuild(c["like"], parts);
}

void registerTreeBuiltins(BuiltinTable &table) {
  table.add("map_leaves", "f, *trees", mapLeaves);
  table.add("ravel", "tree", ravel);
  table.add("unravel", "v, like:", unravel);
}

} // namespace pmap::sema
