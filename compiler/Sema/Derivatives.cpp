// What the derivatives share: which arguments they are taken by, and results as arrays.

#include "compiler/Sema/Derivatives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===--- Reading what was written -------------------------------------------------------------------------------===//

const FunctionValue *sema::readFunction(CallContext &c, StringRef parameter) {
  const Value &value = c[parameter];
  if (!value || value.isError())
    return nullptr;
  const auto *function = value.as<FunctionValue>();
  if (!function)
    c.e.error(Code::E0520, value.range(), "`" + c.builtin.name + "` needs a function, got " + describeKind(value));
  return function;
}

bool sema::readWrt(CallContext &c, const FunctionValue &function, DerivativeRequest &request) {
  const Value &wrt = c["wrt"];
  if (!wrt) {
    if (function.parameters.empty()) {
      c.e.error(Code::E0803, c.range,
                "`" + c.builtin.name + "` needs a function with a parameter, got " + function.name);
      return false;
    }
    request.wrt.push_back(0);
    return true;
  }
  if (wrt.isError())
    return false;
  request.wrtIsTuple = wrt.is(ValueKind::Tuple) || wrt.is(ValueKind::List);
  for (const Value &element : Arguments(c).sequence(wrt)) {
    int64_t position = -1;
    std::string shown;
    if (const auto *name = element.as<StringValue>()) {
      shown = "'" + name->text + "'";
      for (auto [i, parameter] : llvm::enumerate(function.parameters))
        if (parameter.name == name->text)
          position = int64_t(i);
    } else {
      auto literal = Arguments(c).integer(element, "`wrt:`");
      if (!literal)
        return false;
      shown = std::to_string(*literal);
      position = *literal < 0 ? *literal + int64_t(function.parameters.size()) : *literal;
    }
    if (position < 0 || position >= int64_t(function.parameters.size())) {
      std::string names;
      for (const Parameter &parameter : function.parameters)
        names += (names.empty() ? "'" : ", '") + parameter.name + "'";
      c.e.error(Code::E0803, element.range(),
                "`wrt:` must name a parameter of " + function.name + ", " + names + ", got " + shown);
      return false;
    }
    if (llvm::is_contained(request.wrt, unsigned(position))) {
      c.e.error(Code::E0803, element.range(), "`wrt:` names " + shown + " twice");
      return false;
    }
    request.wrt.push_back(unsigned(position));
  }
  if (request.wrt.empty()) {
    c.e.error(Code::E0803, wrt.range(), "`wrt:` names no parameter");
    return false;
  }
  return true;
}

//===--- Arguments ----------------------------------------------------------------------------------------------===//

bool WrtArguments::readLeaf(const Value &leaf, const std::string &name, bool isWhole) {
  std::string subject = "the gradient with respect to '" + name + "' needs floats, got ";
  if (!e.isArrayLike(leaf)) {
    e.error(Code::E0802, leaf.range(), subject + describeKind(leaf));
    return false;
  }
  // A literal is differentiated as a float: grad(f)(3) is f'(3.0).
  Value array = e.materialize(leaf, e.dtypeOf(leaf) ? std::nullopt : std::optional(DType::F32));
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return false;
  if (!isFloat(data->dtype)) {
    Report report = e.error(Code::E0802, leaf.range(), subject + e.renderArray(data->dtype, e.sizesOf(data->ssa)));
    if (leaf.range().isValid() && isInteger(data->dtype) && isWhole) {
      report.fix(leaf.range().startPoint(), "f32(");
      report.fix(leaf.range().endPoint(), ")");
    }
    if (!isWhole)
      report.note({}, "the gradient has the form of the argument, in which every leaf is a float: make '" + name +
                          "' an argument of its own, or differentiate by the other leaves alone and put them back "
                          "with `with`");
    return false;
  }
  operands.push_back({data->ssa, data->dtype, leaf.range()});
  names.push_back(name);
  return true;
}

bool WrtArguments::read(ArrayRef<Value> given) {
  const auto &function = *request.function.as<FunctionValue>();
  for (unsigned position : request.wrt) {
    Value argument = position < given.size() ? given[position] : Value();
    std::string name = function.parameters[position].name;
    if (!argument) {
      e.error(Code::E0803, range,
              "'" + request.name + "' differentiates with respect to '" + name +
                  "', which this call leaves to its default");
      return false;
    }
    if (argument.isError())
      return false;
    first.push_back(operands.size());
    arguments.push_back(argument);
    SmallVector<Value, 4> leaves;
    SmallVector<std::string, 4> leafNames;
    e.flatten(argument, leaves);
    e.leafNames(argument, name, leafNames);
    for (auto [leaf, leafName] : llvm::zip(leaves, leafNames))
      if (!readLeaf(leaf, leafName, leafName == name))
        return false;
  }
  return true;
}

bool WrtArguments::widen(const VarySet &vary) {
  bool changed = false;
  for (Operand &operand : operands) {
    changed |= !isSubset(vary, e.varyOf(operand.ssa));
    operand.ssa = e.widen(operand.ssa, vary);
  }
  return changed;
}

SmallVector<Value, 4> WrtArguments::leavesOf(size_t k, ArrayRef<Value> leaves) const {
  size_t end = k + 1 < first.size() ? first[k + 1] : operands.size();
  return SmallVector<Value, 4>(leaves.slice(first[k], end - first[k]));
}

SmallVector<Value, 8> WrtArguments::replaced(ArrayRef<Value> given, mlir::ValueRange leaves) const {
  SmallVector<Value, 8> result(given.begin(), given.end()), inside;
  for (auto [leaf, operand] : llvm::zip_equal(leaves, operands))
    inside.push_back(Value::array(leaf, operand.dtype, operand.range));
  for (auto [k, position] : llvm::enumerate(request.wrt))
    result[position] = e.rebuild(arguments[k], leavesOf(k, inside));
  return result;
}

Value WrtArguments::derivatives(ArrayRef<Value> leaves, SourceRange at) const {
  SmallVector<Value, 4> nests;
  for (size_t k = 0; k < arguments.size(); ++k)
    nests.push_back(e.rebuild(arguments[k], leavesOf(k, leaves)));
  return request.wrtIsTuple ? Value::tuple(nests, at) : nests.front();
}

Value WrtArguments::derivatives(mlir::ValueRange leaves, SourceRange at) const {
  SmallVector<Value, 8> arrays;
  for (auto [leaf, operand] : llvm::zip_equal(leaves, operands))
    arrays.push_back(Value::array(leaf, operand.dtype, at));
  return derivatives(arrays, at);
}

SmallVector<mlir::Value, 8> WrtArguments::inputs() const {
  return SmallVector<mlir::Value, 8>(llvm::map_range(operands, [](const Operand &operand) { return operand.ssa; }));
}

SmallVector<int64_t, 8> WrtArguments::positions() const {
  return llvm::to_vector<8>(llvm::seq<int64_t>(operands.size()));
}

//===--- Results ------------------------------------------------------------------------------------------------===//

bool RegionResult::elaborate(Elaborator &e, mlir::Block *body, const Value &function, ArrayRef<Value> arguments,
                             SourceRange range) {
  *this = RegionResult();
  bool good = false;
  e.inBlock(body, [&] {
    Value value = e.callBound(function, arguments, range);
    good = !value.isError() && read(e, value);
    if (good)
      YieldOp::create(e.builder, e.loc(range), yielded);
  });
  return good;
}

bool RegionResult::read(Elaborator &e, const Value &result) {
  form = result;
  e.flatten(result, leaves);
  e.leafNames(result, "", names);
  for (auto [i, leaf] : llvm::enumerate(leaves)) {
    if (leaf.is(ValueKind::Array) || leaf.is(ValueKind::List))
      leaf = e.materialize(leaf);
    if (leaf.isError())
      return false;
    if (const auto *array = leaf.as<ArrayValue>()) {
      places.push_back(i);
      yielded.push_back(array->ssa);
      types.push_back(mlir::cast<mlir::RankedTensorType>(array->ssa.getType()));
    }
  }
  return true;
}

DType RegionResult::dtype(size_t k) const { return leaves[places[k]].as<ArrayValue>()->dtype; }

bool RegionResult::isFloating(size_t k) const { return isFloat(dtype(k)); }

VarySet RegionResult::vary() const {
  VarySet vary;
  for (auto [k, type] : llvm::enumerate(types))
    if (isFloating(k))
      vary = unionOf(vary, pmap::varyOf(type));
  return vary;
}

SmallVector<DerivativeLeaf, 4> RegionResult::floating() const {
  SmallVector<DerivativeLeaf, 4> result;
  for (auto [k, type] : llvm::enumerate(types))
    if (isFloating(k))
      result.push_back({type, dtype(k), names[places[k]]});
  return result;
}

Value RegionResult::rebuilt(Elaborator &e, mlir::ValueRange arrays, SourceRange range) const {
  SmallVector<Value, 4> outside = leaves;
  for (auto [k, array] : llvm::enumerate(arrays))
    outside[places[k]] = Value::array(array, dtype(k), range);
  return e.rebuild(form, outside);
}

Value RegionResult::derivatives(Elaborator &e, ArrayRef<Value> floating, SourceRange range) const {
  SmallVector<Value, 4> nest;
  for (const Value &leaf : leaves)
    nest.push_back(leaf.is(ValueKind::Function) || leaf.is(ValueKind::String) || leaf.is(ValueKind::Type)
                       ? leaf
                       : Value::integer(0, range));
  size_t next = 0;
  for (size_t k = 0; k < places.size(); ++k)
    if (isFloating(k))
      nest[places[k]] = floating[next++];
  return e.rebuild(form, nest);
}

mlir::Value sema::readDerivative(Elaborator &e, const Value &leaf, const DerivativeLeaf &primal, StringRef what,
                                 StringRef whose, SourceRange range, Code code) {
  if (!leaf || leaf.isError())
    return nullptr;
  SmallVector<Size> expected = pmap::sizesOf(primal.type);
  SourceRange at = leaf.range().isValid() ? leaf.range() : range;
  std::string subject = ("expected a " + what + " of " + e.renderArray(primal.dtype, expected) + " for " + whose +
                         (primal.name.empty() ? "" : " '" + primal.name + "'") + ", got ")
                            .str();
  if (!e.isArrayLike(leaf)) {
    e.error(code, at, subject + describeKind(leaf));
    return nullptr;
  }
  Value array = e.materialize(leaf, e.dtypeOf(leaf) ? std::nullopt : std::optional(primal.dtype));
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return nullptr;
  SmallVector<Size> got = e.sizesOf(data->ssa);
  bool fits = data->dtype == primal.dtype && got.size() == expected.size();
  for (size_t i = 0; fits && i < got.size(); ++i)
    fits = e.provablyEqual(got[i], expected[i]);
  if (!fits && data->dtype == primal.dtype && e.assumedEqual(got, expected))
    return nullptr;
  if (!fits) {
    Report report = e.error(code, at, subject + e.renderArray(data->dtype, got));
    if (got.size() == expected.size())
      for (size_t i = 0; i < got.size(); ++i)
        if (!e.provablyEqual(got[i], expected[i])) {
          e.noteBirths(report, expected[i]);
          e.noteBirths(report, got[i]);
        }
    return nullptr;
  }
  return e.widen(data->ssa, VarySet(pmap::varyOf(primal.type)));
}

//===--- Devices ------------------------------------------------------------------------------------------------===//

CollectiveOp sema::findCollective(mlir::Operation *op, const VarySet &axes) {
  CollectiveOp found;
  op->walk([&](CollectiveOp collective) {
    bool meets = llvm::any_of(collective.getCollectiveAxes(),
                              [&](mlir::StringAttr axis) { return llvm::is_contained(axes, axis); });
    if (meets)
      found = collective;
    return meets ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

void sema::noteCollectives(Elaborator &e, mlir::Operation *op, const VarySet &vary, SourceRange range) {
  op->walk([&](CollectiveOp collective) {
    for (mlir::StringAttr axis : collective.getCollectiveAxes())
      if (contains(vary, axis.getValue())) {
        Report report =
            e.warning(Code::E0805, range,
                      "this function holds a collective over \"" + axis.str() +
                          "\", but its result varies over it: the gradient is that of the sum over the devices, "
                          "with respect to each device's own argument");
        SourceRange at = e.rangeOf(collective->getLoc());
        if (at.isValid())
          report.note(at, "the collective is here");
        report.note({}, "end the function with psum or pmean if one shared value is meant");
        return mlir::WalkResult::interrupt();
      }
    return mlir::WalkResult::advance();
  });
}
