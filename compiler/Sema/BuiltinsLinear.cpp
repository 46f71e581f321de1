// Contractions: `@`, dot, outer, einsum and trace. All of them label the dimensions of their operands and meet in
// `contract`.

#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

using Labels = SmallVector<int, 6>;

/// An array with a label per dimension.
struct Labelled {
  mlir::Value ssa;
  Labels labels;
  int64_t find(int label) const {
    const int *place = llvm::find(labels, label);
    return place == labels.end() ? -1 : place - labels.begin();
  }
};

/// Sums over the dimensions whose labels `keep` refuses.
void sumOut(Emit &m, Labelled &x, llvm::function_ref<bool(int)> keep) {
  SmallVector<int64_t, 4> dims;
  Labels left;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (keep(x.labels[i]))
      left.push_back(x.labels[i]);
    else
      dims.push_back(int64_t(i));
  }
  x.ssa = m.reduce(ReductionKind::Sum, x.ssa, dims);
  x.labels = std::move(left);
}

/// Puts the dimensions in the order of `order`, which names each of them once.
mlir::Value arrange(Emit &m, const Labelled &x, ArrayRef<int> order) {
  SmallVector<int64_t, 6> permutation;
  for (int label : order)
    permutation.push_back(x.find(label));
  return m.transpose(x.ssa, permutation);
}

/// The contraction of two arrays: labels that `result` lacks are summed over.
mlir::Value contract(Emit &m, Labelled a, Labelled b, ArrayRef<int> result) {
  auto wanted = [&](int label) { return llvm::is_contained(result, label); };
  sumOut(m, a, [&](int label) { return wanted(label) || b.find(label) >= 0; });
  sumOut(m, b, [&](int label) { return wanted(label) || a.find(label) >= 0; });
  SmallVector<mlir::Value, 2> sides = {a.ssa, b.ssa};
  m.unifyVary(sides);
  SmallVector<int64_t, 4> lhsBatch, rhsBatch, lhsContract, rhsContract;
  Labels order, rest;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    int64_t other = b.find(a.labels[i]);
    if (other < 0) {
      rest.push_back(a.labels[i]);
    } else if (wanted(a.labels[i])) {
      lhsBatch.push_back(int64_t(i));
      rhsBatch.push_back(other);
      order.push_back(a.labels[i]);
    } else {
      lhsContract.push_back(int64_t(i));
      rhsContract.push_back(other);
    }
  }
  order.append(rest);
  for (int label : b.labels)
    if (a.find(label) < 0)
      order.push_back(label);
  if (!lhsContract.empty()) {
    mlir::Value product =
        DotOp::create(m.builder, m.loc, sides[0], sides[1], lhsBatch, rhsBatch, lhsContract, rhsContract);
    return arrange(m, {product, order}, result);
  }
  // Nothing is summed: an elementwise product of the two, each spread over the result.
  SmallVector<Size, 4> sizes;
  for (int label : result) {
    const Labelled &source = a.find(label) >= 0 ? a : b;
    sizes.push_back(m.sizes(source.ssa)[source.find(label)]);
  }
  auto spread = [&](const Labelled &x, mlir::Value ssa) {
    Labels mine;
    SmallVector<int64_t, 6> dims;
    for (size_t i = 0; i < result.size(); ++i)
      if (x.find(result[i]) >= 0) {
        mine.push_back(result[i]);
        dims.push_back(int64_t(i));
      }
    return m.broadcast(arrange(m, {ssa, x.labels}, mine), sizes, dims);
  };
  return m.mul(spread(a, sides[0]), spread(b, sides[1]));
}

/// Two arguments as arrays of one dtype that sums to itself: narrow integers are widened (their products would wrap).
bool readPair(Elaborator &e, Value a, Value b, SourceRange range, StringRef what, Operand &left, Operand &right) {
  if (!a || !b || a.isError() || b.isError())
    return false;
  auto dtype = e.commonDType({a, b}, range, what);
  if (!dtype)
    return false;
  a = e.materialize(a, *dtype);
  b = e.materialize(b, *dtype);
  const auto *p = a.as<ArrayValue>(), *q = b.as<ArrayValue>();
  if (!p || !q)
    return false;
  if (*dtype == DType::Key) {
    e.error(Code::E0320, range, what + " is for numbers, got " + e.render(a));
    return false;
  }
  DType sum = dtypeOfSum(*dtype);
  Emit m(e, range);
  left = {m.convert(p->ssa, *dtype, sum), sum, a.range()};
  right = {m.convert(q->ssa, *dtype, sum), sum, b.range()};
  return true;
}

std::string describe(Elaborator &e, const Operand &x) { return e.renderArray(x.dtype, e.sizesOf(x.ssa)); }

/// Reports sizes that should be equal.
bool expectSame(Elaborator &e, const Size &p, const Size &q, SourceRange range, StringRef what, const Operand &a,
                const Operand &b) {
  return e.expectEqual(p, q, range,
                       (what + " needs equal sizes along the contracted dimension, got " + e.render(p) + " and " +
                        e.render(q) + " of " + describe(e, a) + " and " + describe(e, b))
                           .str());
}

Value dot(CallContext &c) {
  Operand a, b;
  if (!readPair(c.e, c[0], c[1], c.range, "`dot`", a, b))
    return Value::error();
  Emit m(c);
  if (a.rank() == 0 || b.rank() == 0)
    return c.e.binary(ast::BinaryOp::Mul, Value::array(a.ssa, a.dtype, a.range), Value::array(b.ssa, b.dtype, b.range),
                      c.range, c.range);
  SmallVector<Size, 4> p = m.sizes(a.ssa), q = m.sizes(b.ssa);
  int64_t inner = b.rank() == 1 ? 0 : b.rank() - 2;
  if (!expectSame(c.e, p.back(), q[inner], c.range, "`dot`", a, b))
    return Value::error();
  Labelled x{a.ssa, {}}, y{b.ssa, {}};
  Labels result;
  for (int64_t i = 0; i < a.rank(); ++i)
    x.labels.push_back(int(i));
  for (int64_t i = 0; i < b.rank(); ++i)
    y.labels.push_back(i == inner ? x.labels.back() : 100 + int(i));
  for (int label : x.labels)
    if (label != x.labels.back())
      result.push_back(label);
  for (int label : y.labels)
    if (label >= 100)
      result.push_back(label);
  return Value::array(contract(m, x, y, result), a.dtype, c.range);
}

Value outer(CallContext &c) {
  Operand a, b;
  if (!readPair(c.e, c[0], c[1], c.range, "`outer`", a, b))
    return Value::error();
  Emit m(c);
  for (Operand *x : {&a, &b}) {
    Size count(1);
    for (const Size &size : m.sizes(x->ssa))
      count *= size;
    x->ssa = m.reshape(x->ssa, {count});
  }
  return Value::array(contract(m, {a.ssa, {0}}, {b.ssa, {1}}, {0, 1}), a.dtype, c.range);
}

/// Keeps only the elements where two dimensions of one label meet, so that each label stands once: a product with the
/// identity, summed over the second.
void takeDiagonals(Emit &m, Labelled &x, DType dtype) {
  for (size_t j = 1; j < x.labels.size(); ++j) {
    int64_t i = x.find(x.labels[j]);
    if (i == int64_t(j))
      continue;
    SmallVector<Size, 4> sizes = m.sizes(x.ssa);
    SmallVector<mlir::Value, 3> parts = {m.iota(DType::I64, sizes, i), m.iota(DType::I64, sizes, int64_t(j)), x.ssa};
    m.unifyVary(parts);
    mlir::Value zero = isFloat(dtype) ? m.like(parts[2], 0, dtype) : m.likeInt(parts[2], 0, dtype);
    mlir::Value masked = m.select(m.equal(parts[0], parts[1]), parts[2], zero);
    x.ssa = m.reduce(ReductionKind::Sum, masked, {int64_t(j)});
    x.labels.erase(x.labels.begin() + j);
    --j;
  }
}

Value trace(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.notKeys("x");
  if (!x)
    return Value::error();
  SmallVector<Size, 4> sizes = c.e.sizesOf(x.ssa);
  if (sizes.size() != 2)
    return c.e.error(Code::E0403, x.range, "`trace` needs a matrix, got " + describe(c.e, x));
  if (!c.e.expectEqual(sizes[0], sizes[1], x.range, "`trace` needs a square matrix, got " + describe(c.e, x)))
    return Value::error();
  Emit m(c);
  DType sum = dtypeOfSum(x.dtype);
  Labelled diagonal{m.convert(x.ssa, x.dtype, sum), {0, 0}};
  takeDiagonals(m, diagonal, sum);
  return Value::array(m.reduce(ReductionKind::Sum, diagonal.ssa, {0}), sum, c.range);
}

/// In subscripts, `...`: as many dimensions as an operand has beside its letters. Aligned at the right they are
/// labelled from `firstDot` on, and a literal 1 stretches.
constexpr int dots = 0, firstDot = 1000;

std::string spelt(int label) { return label == dots || label >= firstDot ? "..." : std::string(1, char(label)); }

/// Puts labels in the place of `...`: for the last `count` of `most` dimensions.
void expandDots(Labels &labels, int64_t count, int64_t most) {
  int *place = llvm::find(labels, dots);
  if (place == labels.end())
    return;
  Labels all(labels.begin(), place);
  for (int64_t i = most - count; i < most; ++i)
    all.push_back(firstDot + int(i));
  all.append(place + 1, labels.end());
  labels = std::move(all);
}

/// The subscripts of einsum: one list of labels per operand, and the result's.
struct Subscripts {
  SmallVector<Labels, 2> operands;
  Labels result;
};

std::optional<Subscripts> parseSubscripts(CallContext &c, StringRef text, SourceRange range) {
  auto fail = [&](const llvm::Twine &why) -> std::optional<Subscripts> {
    return c.e.error(Code::E0411, range, "`einsum`: " + why + " in \"" + text + "\"");
  };
  Subscripts result;
  auto [inputs, output] = text.split("->");
  bool explicitResult = text.contains("->");
  auto read = [&](StringRef part, Labels &labels) {
    while (!part.empty()) {
      if (part.consume_front("...")) {
        if (llvm::is_contained(labels, dots))
          return false;
        labels.push_back(dots);
        continue;
      }
      char letter = part.front();
      part = part.drop_front();
      if (letter == ' ')
        continue;
      if (!isalpha((unsigned char)letter))
        return false;
      labels.push_back(letter);
    }
    return true;
  };
  SmallVector<StringRef, 4> parts;
  inputs.split(parts, ',');
  for (StringRef part : parts) {
    result.operands.emplace_back();
    if (!read(part, result.operands.back()))
      return fail("expected letters, one per dimension, and at most one `...`, got \"" + part + "\"");
  }
  if (explicitResult) {
    if (!read(output, result.result))
      return fail("expected letters after `->`, got \"" + output + "\"");
  } else {
    // As NumPy: `...`, then the letters that occur once, in alphabetical order.
    std::map<int, int> counts;
    for (const Labels &labels : result.operands)
      for (int label : labels)
        ++counts[label];
    for (auto [label, count] : counts)
      if (count == 1 || label == dots)
        result.result.push_back(label);
  }
  for (size_t i = 0; i < result.result.size(); ++i) {
    int label = result.result[i];
    if (llvm::is_contained(ArrayRef<int>(result.result).take_front(i), label))
      return fail("the result names '" + spelt(label) + "' twice");
    if (llvm::none_of(result.operands, [&](const Labels &labels) { return llvm::is_contained(labels, label); }))
      return fail("no operand has the result's '" + spelt(label) + "'");
  }
  auto hasDots = [](const Labels &labels) { return llvm::is_contained(labels, dots); };
  if (llvm::any_of(result.operands, hasDots) && !hasDots(result.result))
    return fail("the operands have `...`, so the result needs it, too,");
  return result;
}

/// Drops a dimension of `...` of literal size 1 where another array has a longer one.
void stretchDots(Emit &m, llvm::MutableArrayRef<Labelled> arrays) {
  auto isOne = [&](const Labelled &x, int label) {
    return x.find(label) >= 0 && m.sizes(x.ssa)[x.find(label)].isConstant(1);
  };
  for (Labelled &x : arrays) {
    SmallVector<Size, 4> sizes;
    Labels kept;
    for (auto [label, size] : llvm::zip(x.labels, m.sizes(x.ssa))) {
      bool stretches =
          label >= firstDot && size.isConstant(1) && llvm::any_of(arrays, [&, l = label](const Labelled &other) {
            return other.find(l) >= 0 && !isOne(other, l);
          });
      if (stretches)
        continue;
      kept.push_back(label);
      sizes.push_back(size);
    }
    x = {m.reshape(x.ssa, sizes), kept};
  }
}

Value einsum(CallContext &c) {
  const auto *text = c[0].as<StringValue>();
  if (!text)
    return c[0].isError() ? Value::error()
                          : c.e.error(Code::E0411, c[0].range(),
                                      "`einsum` needs its subscripts as a string, got " + describeKind(c[0]));
  auto subscripts = parseSubscripts(c, text->text, c[0].range());
  SmallVector<Value, 4> operands = Arguments(c).sequence(c["operands"]);
  if (!subscripts)
    return Value::error();
  if (operands.size() != subscripts->operands.size())
    return c.e.error(Code::E0411, c.range,
                     "`einsum`: \"" + text->text + "\" has subscripts for " +
                         std::to_string(subscripts->operands.size()) + " operands, got " +
                         std::to_string(operands.size()));
  auto dtype = c.e.commonDType(operands, c.range, "`einsum`");
  if (!dtype)
    return Value::error();
  if (*dtype == DType::Key)
    return c.e.error(Code::E0320, c.range, "`einsum` is for numbers, got " + c.e.render(operands[0]));
  DType sum = dtypeOfSum(*dtype);
  Emit m(c);
  SmallVector<Operand, 4> given;
  int64_t most = 0;
  for (auto [value, labels] : llvm::zip(operands, subscripts->operands)) {
    Operand x = Arguments(c).asArray(value, *dtype);
    if (!x)
      return Value::error();
    bool open = llvm::is_contained(labels, dots);
    int64_t letters = int64_t(labels.size()) - open;
    if (open ? x.rank() < letters : x.rank() != letters)
      return c.e.error(Code::E0411, x.range,
                       "`einsum`: expected an array with " + std::string(open ? "at least " : "") +
                           std::to_string(letters) + " dimensions, got " + describe(c.e, x));
    expandDots(labels, x.rank() - letters, x.rank() - letters);
    most = std::max(most, x.rank() - letters);
    given.push_back(x);
  }
  expandDots(subscripts->result, most, most);
  SmallVector<Labelled, 4> arrays;
  std::map<int, std::pair<Size, SourceRange>> sizeOfLabel;
  for (auto [x, labels] : llvm::zip(given, subscripts->operands)) {
    // The dots of an operand are the last ones of the result's.
    int64_t own = llvm::count_if(labels, [](int label) { return label >= firstDot; });
    for (int &label : labels)
      label += label >= firstDot ? int(most - own) : 0;
    arrays.push_back({m.convert(x.ssa, *dtype, sum), labels});
  }
  stretchDots(m, arrays);
  for (auto [x, array] : llvm::zip(given, arrays)) {
    for (auto [label, size] : llvm::zip(array.labels, m.sizes(array.ssa))) {
      auto [known, fresh] = sizeOfLabel.try_emplace(label, size, x.range);
      if (!fresh && !c.e.expectEqual(known->second.first, size, x.range,
                                     "`einsum`: '" + spelt(label) + "' is " + c.e.render(known->second.first) +
                                         " before, and " + c.e.render(size) + " here"))
        return Value::error();
    }
    takeDiagonals(m, array, sum);
  }
  // From left to right; a label is kept as long as the result or an operand to come has it.
  Labelled total = arrays[0];
  for (size_t i = 1; i < arrays.size(); ++i) {
    auto needed = [&](int label) {
      if (llvm::is_contained(subscripts->result, label))
        return true;
      for (size_t k = i + 1; k < arrays.size(); ++k)
        if (arrays[k].find(label) >= 0)
          return true;
      return false;
    };
    Labels kept;
    for (const Labelled *x : {&total, &arrays[i]})
      for (int label : x->labels)
        if (needed(label) && !llvm::is_contained(kept, label))
          kept.push_back(label);
    total = {contract(m, total, arrays[i], kept), kept};
  }
  sumOut(m, total, [&](int label) { return llvm::is_contained(subscripts->result, label); });
  return Value::array(arrange(m, total, subscripts->result), sum, c.range);
}

Value matmulBuiltin(CallContext &c) { return c.e.matmul(c[0], c[1], c.range); }

} // namespace

/// NumPy's matmul: vectors take part as a row or a column that is then dropped, batches broadcast. A batch dimension
/// that only one side has, or that is a literal 1 on the other, needs no copy: it is a free dimension of the
/// contraction.
Value Elaborator::matmul(Value lhs, Value rhs, SourceRange range) {
  Operand a, b;
  if (!readPair(*this, lhs, rhs, range, "`@`", a, b))
    return Value::error();
  for (const Value &x : {lhs, rhs})
    if (rankOf(x) == 0)
      return error(Code::E0403, range, "`@` needs arrays, got the scalar " + render(x) + "; `*` multiplies scalars");
  Emit m(*this, range);
  SmallVector<Size, 4> p = sizesOf(a.ssa), q = sizesOf(b.ssa);
  int64_t inner = b.rank() == 1 ? 0 : b.rank() - 2;
  if (!expectSame(*this, p.back(), q[inner], range, "`@`", a, b))
    return Value::error();
  constexpr int row = 1000, column = 1001, summed = 1002;
  Labelled x{a.ssa, {}}, y{b.ssa, {}};
  int64_t batchA = std::max<int64_t>(a.rank() - 2, 0), batchB = std::max<int64_t>(b.rank() - 2, 0);
  int64_t batch = std::max(batchA, batchB);
  Labels result;
  SmallVector<Size, 4> sizesA, sizesB;
  // Batch dimension k counts from the front of the longer list; both are aligned at their ends.
  for (int64_t k = 0; k < batch; ++k) {
    int64_t i = k - (batch - batchA), j = k - (batch - batchB);
    bool inA = i >= 0, inB = j >= 0;
    if (inA && inB && p[i] != q[j]) {
      if (p[i].isConstant(1))
        inA = false;
      else if (q[j].isConstant(1))
        inB = false;
      else if (!expectEqual(p[i], q[j], range,
                            "`@` cannot broadcast the batches of " + describe(*this, a) + " and " + describe(*this, b)))
        return Value::error();
    }
    if (inA) {
      x.labels.push_back(int(k));
      sizesA.push_back(p[i]);
    }
    if (inB) {
      y.labels.push_back(int(k));
      sizesB.push_back(q[j]);
    }
    result.push_back(int(k));
  }
  if (a.rank() > 1) {
    x.labels.push_back(row);
    sizesA.push_back(p[a.rank() - 2]);
    result.push_back(row);
  }
  x.labels.push_back(summed);
  sizesA.push_back(p.back());
  y.labels.push_back(summed);
  sizesB.push_back(q[inner]);
  if (b.rank() > 1) {
    y.labels.push_back(column);
    sizesB.push_back(q.back());
    result.push_back(column);
  }
  x.ssa = m.reshape(a.ssa, sizesA);
  y.ssa = m.reshape(b.ssa, sizesB);
  return Value::array(contract(m, x, y, result), a.dtype, range);
}

void sema::registerLinearBuiltins(BuiltinTable &table) {
  table.add("matmul", "a, b", matmulBuiltin);
  table.add("dot", "a, b", dot);
  table.add("outer", "a, b", outer);
  table.add("trace", "x", trace);
  table.add("einsum", "subscripts, *operands", einsum);
}
