// Expressions: names, literals, fields, calls, casts. Operators, indexing and control flow have files of their own.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/ForeignNames.h"
#include "compiler/Sema/Modules.h"
#include "compiler/Sema/WeakCalls.h"

using namespace llvm;

namespace pmap::sema {

Value Elaborator::expression(const ast::Expr &e) {
  switch (e.kind) {
  case ast::ExprKind::Number:
    return numberExpression(cast<ast::NumberExpr>(e));
  case ast::ExprKind::Bool:
    return Value::boolean(cast<ast::BoolExpr>(e).value, e.range);
  case ast::ExprKind::String:
    return Value::string(cast<ast::StringExpr>(e).value, e.range);
  case ast::ExprKind::Name:
    return nameExpression(cast<ast::NameExpr>(e));
  case ast::ExprKind::Hole:
    return Value::hole(e.range);
  case ast::ExprKind::Ellipsis:
    return error(Code::E0303, e.range, "'...' stands only in an index or a type");
  case ast::ExprKind::Unary:
    return unaryExpression(cast<ast::UnaryExpr>(e));
  case ast::ExprKind::Binary:
    return binaryExpression(cast<ast::BinaryExpr>(e));
  case ast::ExprKind::Range: {
    const auto &range = cast<ast::RangeExpr>(e);
    Value low = expression(*range.begin), high = expression(*range.end);
    return low.isError() || high.isError() ? Value::error() : Value::rangeOf(low, high, e.range);
  }
  case ast::ExprKind::Cast:
    return castExpression(cast<ast::CastExpr>(e));
  case ast::ExprKind::With:
    return withExpression(cast<ast::WithExpr>(e));
  case ast::ExprKind::Pipe:
    return pipeExpression(cast<ast::PipeExpr>(e));
  case ast::ExprKind::Call:
    return callExpression(cast<ast::CallExpr>(e));
  case ast::ExprKind::Index:
    return indexExpression(cast<ast::IndexExpr>(e));
  case ast::ExprKind::Field:
    return fieldExpression(cast<ast::FieldExpr>(e));
  case ast::ExprKind::Tuple:
    return tupleExpression(cast<ast::TupleExpr>(e));
  case ast::ExprKind::Record:
    return recordExpression(cast<ast::RecordExpr>(e));
  case ast::ExprKind::Array:
    return arrayExpression(cast<ast::ArrayExpr>(e));
  case ast::ExprKind::Comprehension:
    return comprehensionExpression(cast<ast::ComprehensionExpr>(e));
  case ast::ExprKind::If:
    return ifExpression(cast<ast::IfExpr>(e), /*asStatement=*/false);
  case ast::ExprKind::Block:
    return blockExpression(cast<ast::BlockExpr>(e));
  case ast::ExprKind::Lambda:
    return lambdaExpression(cast<ast::LambdaExpr>(e));
  }
  return Value::error();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Value Elaborator::valueOf(const ScopeNode &node) {
  Value value = node.var ? store.lookup(*node.var) : node.value;
  bool fromOutside = !isolations.empty() && node.number <= isolations.back().bindingsOutside;
  return value ? seenFromHere(value, fromOutside) : Value::error();
}

static Value builtinValue(const Builtin &builtin, SourceRange range) {
  const Builtin *row = &builtin;
  auto call = [row](Elaborator &e, ArrayRef<Value> arguments, SourceRange callRange) {
    CallContext context{e, *row, arguments, callRange};
    std::optional<Value> weak = callWeakly(context);
    return weak ? *weak : row->handler(context);
  };
  return makeFunction(builtin.name, builtin.parameters, call, range);
}

Value Elaborator::nameExpression(const ast::NameExpr &e) {
  if (const ScopeNode *node = lookup(scope, e.name)) {
    Value value = valueOf(*node);
    return atUse(value, e.range);
  }
  if (currentModule && currentModule->find(e.name))
    return atUse(item(*currentModule, e.name, e.range), e.range);
  if (const Builtin *builtin = BuiltinTable::get().find(e.name))
    return builtinValue(*builtin, e.range);
  if (std::optional<DType> dtype = parseDType(e.name))
    return Value::dtype(*dtype, e.range);

  Report report = error(Code::E0201, e.range, "no name '" + e.name + "' is known here");
  SmallVector<StringRef> candidates;
  for (const ScopeNode *node = scope.get(); node; node = node->outer.get())
    candidates.push_back(node->name);
  if (currentModule)
    currentModule->names(candidates);
  for (const auto &row : BuiltinTable::get().all())
    candidates.push_back(row.first());
  if (StringRef name = renamed(e.name); !name.empty())
    report.fix(e.range, name);
  else if (StringRef hint = foreignName(e.name); !hint.empty())
    report.note(SourceRange(), hint);
  else if (std::string hint = inLibrary(e.name, options.libraryPaths); !hint.empty())
    report.note(SourceRange(), hint);
  else if (std::optional<StringRef> near = nearest(e.name, candidates))
    report.fix(e.range, *near);
  return report;
}

/// The same value at the place where it is used, so that messages and fix-its point there and not at its definition.
Value Elaborator::atUse(const Value &value, SourceRange range) {
  if (const auto *array = value.as<ArrayValue>())
    return Value::withFacts(Value::scalar(array->ssa, array->dtype, range, array->weak, array->recipe), array->facts);
  if (const auto *integer = value.as<IntValue>())
    return Value::integer(integer->value, range);
  if (const auto *floating = value.as<FloatValue>())
    return Value::floating(floating->value, range, floating->isQuotient);
  if (const auto *boolean = value.as<BoolValue>())
    return Value::boolean(boolean->value, range);
  if (const auto *size = value.as<SizeValue>())
    return Value::size(size->polynomial, range);
  if (const auto *list = value.as<ListValue>())
    return Value::list(list->elements, range);
  if (const auto *tuple = value.as<TupleValue>())
    return Value::record(tuple->elements, tuple->names, range, tuple->typeName);
  return value;
}

/// `np.sum`, where nothing is called `np`: the fix leaves the module away.
Value Elaborator::foreignModule(const ast::FieldExpr &e, const ast::NameExpr &module) {
  bool isKnown =
      StringSwitch<bool>(module.name).Cases({"np", "jnp", "numpy", "lax", "torch", "math"}, true).Default(false);
  if (!isKnown || lookup(scope, module.name) || (currentModule && currentModule->find(module.name)) ||
      BuiltinTable::get().find(module.name))
    return {};
  StringRef other = renamed(e.field.text);
  StringRef name = other.empty() ? StringRef(e.field.text) : other;
  Report report = error(Code::E0201, module.range, "no name '" + module.name + "' is known here");
  report.note(SourceRange(), "the functions of arrays are part of the language and need no module");
  if (BuiltinTable::get().find(name) || parseDType(name) || name == "true" || name == "false")
    report.fix(e.range, name);
  else if (StringRef hint = foreignName(name); !hint.empty())
    report.note(SourceRange(), hint);
  return report;
}

Value Elaborator::fieldExpression(const ast::FieldExpr &e) {
  if (const auto *module = dyn_cast<ast::NameExpr>(e.base.get()))
    if (Value reported = foreignModule(e, *module))
      return reported;
  Value base = expression(*e.base);
  if (base.isError())
    return base;
  if (const auto *module = base.as<ModuleValue>()) {
    LoadedModule &loaded = *module->module;
    if (Value member = item(loaded, e.field.str(), e.range))
      return atUse(member, e.range);
    if (loaded.isLibrary)
      if (const Builtin *builtin = BuiltinTable::get().find((loaded.name + "." + e.field.text)))
        return builtinValue(*builtin, e.range);
    Report report = error(Code::E0204, e.field.range, "module '" + loaded.name + "' has no '" + e.field.text + "'");
    SmallVector<StringRef> candidates;
    loaded.names(candidates);
    if (std::optional<StringRef> near = nearest(e.field.text, candidates))
      report.fix(e.field.range, *near);
    return report;
  }
  if (const auto *record = base.as<TupleValue>(); record && record->isRecord()) {
    int position = record->find(e.field.text);
    if (position >= 0)
      return atUse(record->elements[position], e.range);
    Report report =
        error(Code::E0310, e.field.range, "expected a field of " + render(base) + ", got '" + e.field.text + "'");
    SmallVector<StringRef> candidates(record->names.begin(), record->names.end());
    if (std::optional<StringRef> near = nearest(e.field.text, candidates))
      report.fix(e.field.range, *near);
    return report;
  }
  Report report = error(Code::E0310, e.field.range,
                        "'" + sourceText(e.base->range) + "' has no fields: expected a record, got " +
                            (isArrayLike(base) ? render(base) : describeKind(base)));
  // NumPy's habits, as they are written here.
  if (isArrayLike(base) && e.base->range.isValid()) {
    StringRef text = e.base->range.text();
    if (e.field.text == "T")
      report.fix(e.range, "transpose(" + text + ")");
    else if (StringRef hint = foreignAttribute(e.field.text); !hint.empty())
      report.note(SourceRange(), hint);
    else if (BuiltinTable::get().find(e.field.text))
      report.fix(e.range, text + " |> " + e.field.text);
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

Value Elaborator::numberExpression(const ast::NumberExpr &e) {
  if (e.suffix.empty()) {
    if (e.isFloat)
      return Value::floating(e.floatValue, e.range);
    if (e.intValue > static_cast<uint64_t>(INT64_MAX))
      return error(Code::E0304, e.range, "'" + e.text + "' does not fit 64 bits; with a suffix u64 it would")
          .fix(e.range.endPoint(), "u64");
    return Value::integer(static_cast<int64_t>(e.intValue), e.range);
  }
  std::optional<DType> dtype = parseDType(e.suffix);
  if (!dtype || !isNumeric(*dtype))
    return error(Code::E0307, e.range, "a number has no dtype '" + e.suffix + "'");
  if (isFloat(*dtype))
    return Value::array(constant(e.floatValue, *dtype, e.range), *dtype, e.range);
  bool fits =
      *dtype == DType::U64 || (e.intValue <= static_cast<uint64_t>(INT64_MAX) && dtypeHolds(*dtype, e.intValue));
  if (e.isFloat)
    return error(Code::E0302, e.range, "'" + e.text + "' is a fraction and does not become " + dtypeName(*dtype));
  if (!fits)
    return error(Code::E0304, e.range, "'" + e.text + "' does not fit " + dtypeName(*dtype));
  return Value::array(constantInt(static_cast<int64_t>(e.intValue), *dtype, e.range), *dtype, e.range);
}

Value Elaborator::tupleExpression(const ast::TupleExpr &e) {
  SmallVector<Value, 4> elements;
  bool failed = false;
  for (const ast::ExprPtr &element : e.elements) {
    elements.push_back(expression(*element));
    failed |= elements.back().isError();
  }
  return failed ? Value::error() : Value::tuple(std::move(elements), e.range);
}

Value Elaborator::recordExpression(const ast::RecordExpr &e) {
  SmallVector<Value, 4> elements;
  SmallVector<std::string, 4> names;
  bool failed = false;
  for (const ast::NamedExpr &field : e.fields) {
    elements.push_back(expression(*field.value));
    names.push_back(field.name.text);
    failed |= elements.back().isError();
  }
  return failed ? Value::error() : Value::record(std::move(elements), std::move(names), e.range);
}

Value Elaborator::arrayExpression(const ast::ArrayExpr &e) {
  SmallVector<Value, 4> elements;
  bool failed = false;
  for (const ast::ExprPtr &element : e.elements) {
    elements.push_back(expression(*element));
    failed |= elements.back().isError();
  }
  if (failed)
    return Value::error();
  Value list = Value::list(elements, e.range);
  // A list stays one while it may still be a shape, a spec or a weak array; rows of a definite dtype are an array at
  // once.
  bool isWeak = !isArrayLike(list) || !dtypeOf(list) ||
                !any_of(elements, [](const Value &v) { return v.is(ValueKind::Array) && v.as<ArrayValue>(); });
  bool scalarSizes = all_of(elements, [&](const Value &v) {
    return v.is(ValueKind::Int) || v.is(ValueKind::Size) ||
           (v.is(ValueKind::Array) && rankOf(v) == 0 && isInteger(v.as<ArrayValue>()->dtype));
  });
  return isWeak || scalarSizes ? list : materialize(list);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value Elaborator::callExpression(const ast::CallExpr &e) { return callWith(nullptr, SourceRange(), e); }

Value Elaborator::callWith(const Value *first, SourceRange firstRange, const ast::CallExpr &e) {
  Value callee = expression(*e.callee);
  SmallVector<Argument> arguments;
  bool failed = callee.isError();
  if (first) {
    arguments.push_back({"", *first, firstRange, SourceRange()});
    failed |= first->isError();
  }
  for (const ast::Argument &argument : e.args) {
    Value value = expression(*argument.value);
    failed |= value.isError();
    arguments.push_back({argument.label.text, value, argument.value->range, argument.label.range});
  }
  if (failed)
    return Value::error();
  Value result = callFunction(callee, arguments, e.range);
  // A call is where its result was made, whatever went on inside.
  return result ? atUse(result, e.range) : Value::error();
}

Value Elaborator::pipeExpression(const ast::PipeExpr &e) {
  Value lhs = expression(*e.lhs);
  if (const auto *call = dyn_cast<ast::CallExpr>(e.rhs.get()))
    return callWith(&lhs, e.lhs->range, *call);
  Value callee = expression(*e.rhs);
  if (lhs.isError() || callee.isError())
    return Value::error();
  Value result = callFunction(callee, {{"", lhs, e.lhs->range, SourceRange()}}, e.range);
  return result ? atUse(result, e.range) : Value::error();
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

Value Elaborator::castTo(const Value &value, const ast::Type &type, const TypeContext &in, SourceRange range) {
  if (value.isError())
    return value;
  const auto *tuple = value.as<TupleValue>();
  auto each = [&](ArrayRef<const ast::Type *> types) -> Value {
    if (!tuple || tuple->elements.size() != types.size())
      return error(Code::E0308, range,
                   "`:>` keeps the form of a value: expected " + renderAnnotation(type) + ", got " + render(value));
    SmallVector<Value, 4> elements;
    for (auto [element, elementType] : zip(tuple->elements, types))
      elements.push_back(castTo(element, *elementType, in, range));
    if (any_of(elements, [](const Value &v) { return v.isError(); }))
      return Value::error();
    return Value::record(std::move(elements), tuple->names, range, tuple->typeName);
  };
  SmallVector<const ast::Type *> parts;
  if (const auto *tupleType = dyn_cast<ast::TupleType>(&type)) {
    for (const ast::TypePtr &element : tupleType->elements)
      parts.push_back(element.get());
    return each(parts);
  }
  if (const auto *recordType = dyn_cast<ast::RecordType>(&type)) {
    for (const ast::RecordTypeField &field : recordType->fields)
      parts.push_back(field.type.get());
    return each(parts);
  }
  const auto &named = cast<ast::NamedType>(type);
  std::optional<NamedTarget> target = resolveType(named, in.module);
  if (!target)
    return Value::error();
  if (target->decl) {
    std::optional<SizeArguments> arguments = argumentsOf(named, *target, in);
    if (!arguments)
      return Value::error();
    TypeContext inside = in;
    inside.module = target->module;
    inside.arguments = &*arguments;
    return castTo(value, *target->decl->type, inside, range);
  }

  Value made = materialize(value, target->dtype);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return Value::error();
  if (target->dtype && *target->dtype != array->dtype) {
    Report report =
        error(Code::E0308, range,
              "`:>` changes sizes, not dtypes: expected " + renderAnnotation(type) + ", got " + render(made));
    if (value.range().isValid())
      report.fix(value.range(), dtypeName(*target->dtype) + "(" + value.range().text() + ")");
    return report;
  }
  SmallVector<Size> given = sizesOf(made), wanted;
  size_t named_ = named.sizes.size();
  bool hasEllipsis = any_of(named.sizes, [](const ast::ExprPtr &s) { return isa<ast::EllipsisExpr>(s.get()); });
  if (hasEllipsis ? named_ - 1 > given.size() : named_ != given.size())
    return error(Code::E0403, range,
                 "`:>` keeps the rank: expected " + renderAnnotation(type) + ", got " + render(made));
  for (const ast::ExprPtr &size : named.sizes) {
    if (isa<ast::EllipsisExpr>(size.get())) {
      size_t skipped = given.size() - (named_ - 1);
      for (size_t i = 0; i < skipped; ++i)
        wanted.push_back(given[wanted.size()]);
    } else if (isa<ast::HoleExpr>(size.get())) {
      wanted.push_back(given[wanted.size()]);
    } else {
      std::optional<Size> wantedSize = sizeInType(*size, in);
      if (!wantedSize)
        return Value::error();
      bindSymbolsOf(*wantedSize);
      wanted.push_back(*wantedSize);
    }
  }
  for (auto [a, b] : zip(given, wanted))
    if (a.isConstant() && b.isConstant() && a != b)
      return error(Code::E0401, range,
                   "the size " + render(a) + " is never " + render(b) + ": expected " + renderAnnotation(type) +
                       ", got " + render(made));
  if (given == wanted)
    return made;
  auto to = tensorType(array->dtype, wanted, varyOf(array->ssa));
  return Value::array(CastOp::create(builder, loc(range), to, array->ssa), array->dtype, range);
}

Value Elaborator::castExpression(const ast::CastExpr &e) {
  Value operand = expression(*e.operand);
  return castTo(operand, *e.type, {currentModule, nullptr, false, nullptr}, e.range);
}

} // namespace pmap::sema
