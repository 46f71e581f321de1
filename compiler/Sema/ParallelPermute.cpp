// ppermute, and what is made of it: shift and halo (C3, V4).
//
// A permutation is a table of destinations, an operand of `pmap.permute`. Where the mesh gives the number of devices as
// a literal, and what the table holds is known without the run, it is a constant and checked here; otherwise the
// runtime checks it before anything moves.

#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Sema/ParallelCollectives.h"
#include <set>

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

mlir::Value constantTable(Emit &m, ArrayRef<int32_t> destinations) {
  auto type = m.e.tensorType(DType::I32, Size(destinations.size()), {});
  return mlir::arith::ConstantOp::create(m.builder, m.loc, mlir::DenseElementsAttr::get(type, destinations));
}

/// The value of a size that needs nothing but literal axis sizes.
std::optional<int64_t> literalOf(CallContext &c, const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return integer->value;
  std::optional<Size> size = c.e.pureSizeOf(value);
  if (!size)
    return std::nullopt;
  return size->evaluate([&](llvm::StringRef symbol) -> std::optional<int64_t> {
    if (!symbol.consume_front("@"))
      return std::nullopt;
    int64_t devices = literalDevices(c, symbol.str());
    return devices < 0 ? std::nullopt : std::optional(devices);
  });
}

//===--- Tables ------------------------------------------------------------------------------------------------===//

/// C3 for a table that is known: an error where two send to one or one sends to no device.
bool checkTable(CallContext &c, const Collective &collective, ArrayRef<int32_t> table, SourceRange range) {
  int64_t devices = table.size();
  for (auto [from, to] : llvm::enumerate(table)) {
    auto before = table.take_front(from);
    std::string why;
    if (to < -1 || to >= devices)
      why = "position " + std::to_string(from) + " sends to " + std::to_string(to) + ", which is none of the " +
            std::to_string(devices) + " " + membersOf(c, collective.axes) + " of " + quotedAxes(collective.axes);
    else if (to >= 0 && llvm::is_contained(before, to))
      why = "positions " + std::to_string(llvm::find(before, to) - before.begin()) + " and " + std::to_string(from) +
            " both send to " + std::to_string(to);
    if (!why.empty()) {
      c.e.error(Code::E0721, range, spelt(c) + ": " + why);
      return false;
    }
  }
  return true;
}

/// `[(0, 1), (1, 2)]`: pairs of literal positions.
mlir::Value tableOfPairs(CallContext &c, const Collective &collective, const ListValue &list) {
  int64_t devices = literalDevices(c, collective.axes);
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  std::set<int64_t> sources, destinations;
  auto fail = [&](const Value &at, const std::string &why) {
    c.e.error(Code::E0721, at.range().isValid() ? at.range() : c.range, spelt(c) + ": " + why);
    return mlir::Value();
  };
  for (const Value &element : list.elements) {
    const auto *pair = element.as<TupleValue>();
    SmallVector<int64_t, 2> positions;
    if (pair)
      for (const Value &position : pair->elements)
        if (auto literal = literalOf(c, position))
          positions.push_back(*literal);
    if (!pair || pair->elements.size() != 2 || positions.size() != 2)
      return fail(element, "expected pairs of literal positions (from, to), got " + describeKind(element));
    for (int64_t position : positions)
      if (position < 0 || (devices > 0 && position >= devices))
        return fail(element,
                    "expected positions " +
                        (devices > 0 ? "from 0 to " + std::to_string(devices - 1) : std::string("of at least 0")) +
                        " along " + quotedAxes(collective.axes) + ", got " + std::to_string(position));
    if (!sources.insert(positions[0]).second)
      return fail(element, "position " + std::to_string(positions[0]) + " sends twice");
    if (!destinations.insert(positions[1]).second)
      return fail(element, "position " + std::to_string(positions[1]) + " receives twice");
    pairs.push_back({positions[0], positions[1]});
  }
  Emit m(c);
  if (devices > 0) {
    SmallVector<int32_t> table(devices, -1);
    for (auto [from, to] : pairs)
      table[from] = to;
    return constantTable(m, table);
  }
  // The runtime sees where values go, and would not miss a sender that is no device.
  Size count = productOf(c.e, collective.attributes(&c.e.context));
  mlir::Value position = m.iota(DType::I32, count, 0), table = m.likeInt(position, -1, DType::I32);
  for (auto [from, to] : pairs) {
    mlir::Value sender = checkedPosition(c, c.e.indexOf(Size(from), c.range), {}, count, collective.axes, "sends from");
    table = m.select(m.equal(position, c.e.splat(sender, {count}, c.range)), m.likeInt(table, to, DType::I32), table);
  }
  return table;
}

/// One result of a function of the position as an i32; null (reported) where it is no integer.
mlir::Value asDestination(CallContext &c, const Value &value, const Value &function) {
  if (value.isError())
    return {};
  Operand result = Arguments(c).asArray(value, DType::I32);
  if (!result)
    return {};
  if (result.rank() != 0 || !isInteger(result.dtype)) {
    c.e.error(Code::E0721, function.range(),
              spelt(c) + ": expected a function from a position to a position, got " + shown(c, result) +
                  " for its result");
    return {};
  }
  return Emit(c).convert(result.ssa, result.dtype, DType::I32);
}

/// `fn(i) = (i + 1) % axis_size("a")`, evaluated for each position.
mlir::Value tableOfFunction(CallContext &c, const Collective &collective, const Value &function) {
  int64_t devices = literalDevices(c, collective.axes);
  Emit m(c);
  if (devices > 0) {
    SmallVector<int32_t> table;
    // Most are arithmetic of literals; the IR of those that are not is made below.
    bool ok = c.e.dryRun([&] {
      for (int64_t i = 0; i < devices; ++i)
        if (auto to = literalOf(c, c.e.apply(function, Value::integer(i, c.range), c.range)))
          table.push_back(static_cast<int32_t>(*to));
    });
    if (ok && int64_t(table.size()) == devices)
      return checkTable(c, collective, table, function.range()) ? constantTable(m, table) : mlir::Value();
  }
  // As the comprehension `[for i in axis_size(a): f(i)]`.
  Size count = productOf(c.e, collective.attributes(&c.e.context));
  mlir::Value bound = c.e.indexOf(count, c.range);
  mlir::Operation *container = c.e.scratch(c.range);
  mlir::Region &region = container->getRegion(0);
  mlir::Block &block = region.emplaceBlock();
  SizeSymbol &symbol = c.e.newSymbol("i", c.range, "a position along " + quotedAxes(collective.axes));
  symbol.ssa = block.addArgument(m.builder.getIndexType(), m.loc);
  symbol.low = Size(0);
  symbol.high = count;
  mlir::Value yielded;
  c.e.inBlock(&block, [&] {
    Value position = Value::size(Size::symbol(symbol.name), c.range);
    yielded = asDestination(c, c.e.apply(function, position, c.range), function);
    if (yielded)
      YieldOp::create(m.builder, m.loc, yielded);
  });
  if (!yielded) {
    region.dropAllReferences();
    c.e.eraseScratch(container);
    return {};
  }
  auto op = ForEachOp::create(m.builder, m.loc, c.e.tensorType(DType::I32, count, c.e.varyOf(yielded)), bound);
  op.getBody().takeBody(region);
  c.e.eraseScratch(container);
  return op.getResult(0);
}

/// The destinations that `permutation` describes; null (reported) where it does not.
mlir::Value readPermutation(CallContext &c, const Collective &collective) {
  const Value &value = c["permutation"];
  if (!value || value.isError())
    return {};
  mlir::Value table;
  if (const auto *list = value.as<ListValue>())
    table = tableOfPairs(c, collective, *list);
  else if (value.is(ValueKind::Function))
    table = tableOfFunction(c, collective, value);
  else
    c.e.error(Code::E0721, value.range(),
              spelt(c) + ": expected pairs such as [(0, 1), (1, 0)] or a function of the position, got " +
                  describeKind(value));
  if (!table)
    return {};
  for (mlir::StringAttr axis : c.e.varyOf(table))
    if (contains(collective.set, axis.getValue())) {
      Report report = c.e.error(Code::E0721, value.range(),
                                spelt(c) + ": expected one permutation for all devices, but this one differs over \"" +
                                    axis.str() + "\"");
      c.e.noteVariance(report, table, axis.getValue());
      return {};
    }
  return table;
}

/// The table of a shift by `by` positions, as arithmetic on the positions or, where all is known, as a constant.
mlir::Value tableOfShift(Emit &m, CallContext &c, const Collective &collective, const Value &by, bool wrap) {
  int64_t devices = literalDevices(c, collective.axes);
  std::optional<int64_t> literal = literalOf(c, by);
  if (literal && devices > 0) {
    SmallVector<int32_t> table;
    for (int64_t i = 0; i < devices; ++i) {
      int64_t to = wrap ? ((i + *literal) % devices + devices) % devices : i + *literal;
      table.push_back(to < 0 || to >= devices ? -1 : static_cast<int32_t>(to));
    }
    return constantTable(m, table);
  }
  Size count = productOf(c.e, collective.attributes(&c.e.context));
  mlir::Value position = m.iota(DType::I32, count, 0), step = c.e.tensorOf(by, DType::I64);
  if (!step)
    return {};
  // No step is too long: it goes around, or leads past the end.
  mlir::Value devicesOf = m.sizeLike(step, count, DType::I64);
  step = c.e.widen(step, c.e.varyOf(devicesOf));
  step = wrap ? mlir::arith::RemSIOp::create(m.builder, m.loc, step, devicesOf).getResult()
              : m.maximum(m.minimum(step, devicesOf, DType::I64), m.neg(devicesOf), DType::I64);
  step = m.convert(step, DType::I64, DType::I32);
  SmallVector<mlir::Value, 2> parts = {position, c.e.splat(step, count, c.range)};
  m.unifyVary(parts);
  mlir::Value to = m.add(parts[0], parts[1]), size = m.sizeLike(to, count, DType::I32);
  if (wrap) {
    auto rest = [&](mlir::Value x) -> mlir::Value { return mlir::arith::RemSIOp::create(m.builder, m.loc, x, size); };
    return rest(m.add(rest(to), size));
  }
  mlir::Value inside =
      m.logicalAnd(m.lessEqual(m.likeInt(to, 0, DType::I32), to, DType::I32), m.less(to, size, DType::I32));
  return m.select(inside, to, m.likeInt(to, -1, DType::I32));
}

//===--- ppermute, shift ---------------------------------------------------------------------------------------===//

/// `fill:` as a scalar of a leaf's dtype, 0 where it was left out; null (reported) where it is none.
mlir::Value readFill(CallContext &c, const Operand &operand, const Value &fill) {
  if (!fill)
    return isFloat(operand.dtype) ? c.e.constant(0, operand.dtype, c.range)
                                  : c.e.constantInt(0, operand.dtype, c.range);
  SmallVector<Value, 2> both = {Value::array(operand.ssa, operand.dtype, operand.range), fill};
  auto dtype = c.e.commonDType(both, c.range, spelt(c));
  mlir::Value scalar = dtype ? c.e.tensorOf(fill, dtype) : mlir::Value();
  if (scalar && !c.e.sizesOf(scalar).empty()) {
    c.e.error(Code::E0403, fill.range(), spelt(c) + " fills with a scalar, got " + c.e.render(fill));
    return {};
  }
  return scalar;
}

/// `place` is m's, or says more of what may fail there.
mlir::Value send(Emit &m, mlir::Location place, const Collective &collective, mlir::Value x, mlir::Value table,
                 mlir::Value fill) {
  auto axes = collective.attributes(&m.e.context);
  auto type = mlir::cast<mlir::RankedTensorType>(x.getType());
  VarySet vary = unionOf(unionOf(m.e.varyOf(x), collective.set), unionOf(m.e.varyOf(table), m.e.varyOf(fill)));
  return PermuteOp::create(m.builder, place, withVary(type, vary), x, table, fill,
                           m.builder.getArrayAttr(SmallVector<mlir::Attribute>(axes.begin(), axes.end())));
}

Value sendLeaves(CallContext &c, const Collective &collective, mlir::Value table, const Value &fill) {
  Emit m(c);
  // The rows of a vmap are sent by way of a table of them, whose index is one more than the position.
  mlir::Location place =
      toldAs(m.loc, "E1124",
             spelt(c) + " over " + quotedAxes(collective.axes) +
                 " sends to position {a-1}, which is none of the {c-1} " + membersOf(c, collective.axes));
  SmallVector<mlir::Value, 4> results;
  for (const Operand &operand : collective.leaves) {
    mlir::Value scalar = readFill(c, operand, fill);
    if (!scalar)
      return Value::error();
    results.push_back(send(m, place, collective, operand.ssa, table, scalar));
  }
  return finishCollective(c, c["x"], results, collective);
}

Value ppermute(CallContext &c) {
  auto collective = readCollective(c, c["x"]);
  mlir::Value table = collective ? readPermutation(c, *collective) : mlir::Value();
  return table ? sendLeaves(c, *collective, table, c["fill"]) : Value::error();
}

/// shift(x, a, by: 1, wrap: true): the value of the device `by` positions before. Without `wrap` the first ones get 0.
Value shift(CallContext &c) {
  auto collective = readCollective(c, c["x"]);
  Arguments arguments(c);
  auto wrap = arguments.flag("wrap", true);
  if (!collective || !wrap)
    return Value::error();
  Value by = c.has("by") ? c["by"] : Value::integer(1, c.range);
  if (by.isError())
    return Value::error();
  if (!by.is(ValueKind::Int) && !by.is(ValueKind::Size)) {
    Operand step = arguments.asArray(by, DType::I32);
    if (!step)
      return Value::error();
    if (step.rank() != 0 || !isInteger(step.dtype))
      return c.e.error(Code::E0520, by.range(), "`shift`: `by:` must be an integer, got " + shown(c, step));
    for (mlir::StringAttr axis : c.e.varyOf(step.ssa))
      if (contains(collective->set, axis.getValue())) {
        Report report =
            c.e.error(Code::E0721, by.range(),
                      "`shift`: expected one `by:` for all devices, but this one differs over \"" + axis.str() + "\"");
        c.e.noteVariance(report, step.ssa, axis.getValue());
        return report;
      }
    by = c.e.convert(by, DType::I64, by.range());
  }
  Emit m(c);
  mlir::Value table = tableOfShift(m, c, *collective, by, *wrap);
  return table ? sendLeaves(c, *collective, table, {}) : Value::error();
}

//===--- halo --------------------------------------------------------------------------------------------------===//

/// halo(x, a, dim:, width:, edge:): the block with `width` rows of each neighbour around it. The first and the last
/// device have one neighbour only; on the other side are the rows of the device at the other end ("wrap"), copies of
/// the own outermost row ("clamp"), or one value.
Value halo(CallContext &c) {
  auto collective = readCollective(c, c["x"]);
  if (!collective)
    return Value::error();
  Emit m(c);
  std::optional<Size> width = c.has("width") ? c.e.sizeOf(c["width"], "the width of a halo") : std::optional<Size>(1);
  if (!width)
    return Value::error();
  if (auto literal = width->constant(); literal && *literal < 0)
    return c.e.error(Code::E0520, c.rangeOf("width"),
                     "`halo`: `width:` must be at least 0, got " + std::to_string(*literal));
  const Value &edge = c["edge"];
  const auto *name = edge ? edge.as<StringValue>() : nullptr;
  bool wrap = name ? name->text == "wrap" : !edge, clamp = name && name->text == "clamp";
  if (name && !wrap && !clamp)
    return c.e.error(Code::E0520, edge.range(),
                     "`halo`: `edge:` must be \"wrap\", \"clamp\" or a number, got \"" + name->text + "\"");
  mlir::Value ahead = tableOfShift(m, c, *collective, Value::integer(1, c.range), wrap);
  mlir::Value back = tableOfShift(m, c, *collective, Value::integer(-1, c.range), wrap);
  SmallVector<mlir::Value, 4> results;
  for (const Operand &operand : collective->leaves) {
    if (operand.rank() == 0)
      return c.e.error(Code::E0403, operand.range,
                       "`halo` adds rows along a dimension: expected at least one, got the scalar " +
                           shown(c, operand));
    auto dim = c.has("dim") ? Arguments(c).dimension(c["dim"], operand.rank()) : std::optional<int64_t>(0);
    mlir::Value fill = dim ? readFill(c, operand, name ? Value() : edge) : mlir::Value();
    if (!fill)
      return Value::error();
    mlir::Value x = c.e.widen(operand.ssa, collective->set);
    SmallVector<Size> sizes = c.e.sizesOf(x);
    Size rows = sizes[*dim];
    if (auto more = (rows - *width).constant(); more && *more < 0)
      return c.e.error(Code::E0520, c.rangeOf("width"),
                       "`halo`: a neighbour gives at most its own " + c.e.render(rows) +
                           " rows, got `width: " + c.e.render(*width) + "`");
    // A width that only the run knows shows to be too large in one of the two slices.
    Emit told(c);
    told.loc = toldAs(m.loc, "E1104",
                      "`halo` over " + quotedAxes(collective->axes) +
                          ": expected a `width:` of at most {c}, the size of "
                          "dimension " +
                          llvm::Twine(*dim) + " of '" + c.e.sourceText(operand.range) + "' in each " +
                          (membersOf(c, collective->axes) == "rows" ? "row" : "device's block") + ", got {b-a}");
    mlir::Value before = send(m, m.loc, *collective, told.slice(x, *dim, rows - *width, *width), ahead, fill);
    mlir::Value after = send(m, m.loc, *collective, told.slice(x, *dim, Size(0), *width), back, fill);
    if (clamp) {
      SmallVector<Size> margin = sizes;
      margin[*dim] = *width;
      mlir::Value position = positionAlong(m, collective->axes);
      auto unless = [&](mlir::Value atEnd, const Size &row, mlir::Value received) {
        SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
        mlir::Value own = m.broadcast(m.slice(x, *dim, row, Size(1)), margin, all);
        SmallVector<mlir::Value, 3> parts = {c.e.splat(atEnd, margin, c.range), own, received};
        m.unifyVary(parts);
        return m.select(parts[0], parts[1], parts[2]);
      };
      Size end = productOf(c.e, collective->attributes(&c.e.context)) - Size(1);
      before = unless(m.equal(position, m.likeInt(position, 0, DType::I32)), Size(0), before);
      after = unless(m.equal(position, m.sizeLike(position, end, DType::I32)), rows - Size(1), after);
    }
    results.push_back(m.concat({before, x, after}, *dim));
  }
  return finishCollective(c, c["x"], results, *collective);
}

} // namespace

void sema::registerPermuteBuiltins(BuiltinTable &table) {
  table.add("ppermute", "x, axis, permutation, fill:?", ppermute);
  table.add("shift", "x, axis, by:?, wrap:?", shift);
  table.add("halo", "x, axis, dim:?, width:?, edge:?", halo);
}
