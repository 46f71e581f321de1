// Types as the user writes them: what they name, what sizes they bind, and whether a value fits.
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/ForeignNames.h"
#include "compiler/Sema/Modules.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// Names of types
//===----------------------------------------------------------------------===//

std::optional<Elaborator::NamedTarget> Elaborator::resolveType(const ast::NamedType &type, LoadedModule *module,
                                                               bool quiet) {
  NamedTarget target;
  if (type.isHole()) {
    target.hole = true;
    return target;
  }
  LoadedModule *home = module;
  if (!type.module().empty()) {
    home = module ? module->import(type.module()) : nullptr;
    if (!home) {
      if (!quiet)
        error(Code::E0201, type.path[0].range, "no module named '" + type.module() + "' is imported here");
      return std::nullopt;
    }
  }
  if (const ast::Item *item = home ? home->find(type.name()) : nullptr)
    if (const auto *decl = dyn_cast<ast::TypeItem>(item)) {
      target.decl = decl;
      target.module = home;
      return target;
    }
  if (type.module().empty())
    if (std::optional<DType> dtype = parseDType(type.name())) {
      target.dtype = dtype;
      return target;
    }
  if (!quiet) {
    Report report = error(Code::E0307, type.path.back().range, "no type named '" + type.name() + "'");
    SmallVector<StringRef> candidates;
    if (home)
      home->names(candidates);
#define PMAP_DTYPE(id, name, ...) candidates.push_back(name);
#include "compiler/Support/DType.def"
    if (StringRef other = renamed(type.name()); parseDType(other))
      report.fix(type.path.back().range, other);
    else if (StringRef hint = foreignType(type.name()); !hint.empty())
      report.note(SourceRange(), hint);
    else if (std::optional<StringRef> near = nearest(type.name(), candidates))
      report.fix(type.path.back().range, *near);
  }
  return std::nullopt;
}

std::optional<Elaborator::SizeArguments> Elaborator::argumentsOf(const ast::NamedType &type, const NamedTarget &target,
                                                                 const TypeContext &in) {
  const ast::TypeItem &decl = *target.decl;
  if (type.sizes.size() != decl.params.size()) {
    error(Code::E0309, type.range,
          "type '" + decl.name.str() + "' takes " + Twine(decl.params.size()) + " sizes, got " +
              Twine(type.sizes.size()))
        .note(decl.name.range, "declared here");
    return std::nullopt;
  }
  SizeArguments arguments;
  arguments.outer = in.arguments;
  arguments.outerModule = in.module;
  for (auto [param, size] : zip(decl.params, type.sizes))
    arguments.expressions[param.text] = size.get();
  return arguments;
}

//===----------------------------------------------------------------------===//
// Sizes in types
//===----------------------------------------------------------------------===//

const ast::NameExpr *Elaborator::loneName(const ast::Expr &e, const TypeContext &in, TypeContext &where) {
  const auto *name = dyn_cast<ast::NameExpr>(&e);
  where = in;
  while (name && where.arguments) {
    auto found = where.arguments->expressions.find(name->name);
    if (found == where.arguments->expressions.end())
      return name;
    name = dyn_cast<ast::NameExpr>(found->second);
    where.module = where.arguments->outerModule;
    where.arguments = where.arguments->outer;
  }
  return name;
}

std::optional<Size> Elaborator::sizeInType(const ast::Expr &e, const TypeContext &in, bool quiet) {
  auto fail = [&](const Twine &message) -> std::optional<Size> {
    if (!quiet)
      error(Code::E0407, e.range, message);
    return std::nullopt;
  };
  if (const auto *number = dyn_cast<ast::NumberExpr>(&e)) {
    if (number->isFloat || number->intValue > static_cast<uint64_t>(INT64_MAX))
      return fail("expected a size, got '" + sourceText(e.range) + "'");
    return Size(static_cast<int64_t>(number->intValue));
  }
  if (const auto *name = dyn_cast<ast::NameExpr>(&e)) {
    if (in.arguments) {
      auto found = in.arguments->expressions.find(name->name);
      if (found != in.arguments->expressions.end()) {
        TypeContext outer = in;
        outer.module = in.arguments->outerModule;
        outer.arguments = in.arguments->outer;
        return sizeInType(*found->second, outer, quiet);
      }
    } else if (in.binds) {
      auto found = in.binds->find(name->name);
      if (found != in.binds->end())
        return sizeOf(found->second, "a size in a type");
    }
    Value value;
    if (!in.arguments)
      if (const ScopeNode *node = lookup(scope, name->name))
        value = valueOf(*node);
    if (!value && in.module && in.module->find(name->name))
      value = item(*in.module, name->name, e.range);
    if (value) {
      if (quiet && !value.is(ValueKind::Int) && !value.is(ValueKind::Size) && !value.is(ValueKind::Array))
        return std::nullopt;
      return sizeOf(value, "a size in a type");
    }
    if (quiet)
      return std::nullopt;
    // A type's own sizes are those of its head; that a parameter has the type does not bind others.
    if (in.canBind && !in.arguments)
      error(Code::E0413, e.range, "the size '" + name->name + "' stands nowhere alone, so no argument gives it a value")
          .note(SourceRange(),
                "a size is bound where it is a whole dimension of a parameter, as in f32[" + name->name + "]");
    else
      error(Code::E0413, e.range, "no size named '" + name->name + "' here");
    return std::nullopt;
  }
  if (const auto *unary = dyn_cast<ast::UnaryExpr>(&e); unary && unary->op == ast::UnaryOp::Neg) {
    std::optional<Size> operand = sizeInType(*unary->operand, in, quiet);
    return operand ? std::optional<Size>(-*operand) : std::nullopt;
  }
  if (const auto *binary = dyn_cast<ast::BinaryExpr>(&e)) {
    std::optional<Size> lhs = sizeInType(*binary->lhs, in, quiet), rhs = sizeInType(*binary->rhs, in, quiet);
    if (!lhs || !rhs)
      return std::nullopt;
    bool divides =
        binary->op == ast::BinaryOp::Div || binary->op == ast::BinaryOp::FloorDiv || binary->op == ast::BinaryOp::Mod;
    if (divides && rhs->isConstant(0))
      return fail("a size is divided by zero");
    switch (binary->op) {
    case ast::BinaryOp::Add:
      return *lhs + *rhs;
    case ast::BinaryOp::Sub:
      return *lhs - *rhs;
    case ast::BinaryOp::Mul:
      return *lhs * *rhs;
    case ast::BinaryOp::Div:
      return Size::exactQuotient(*lhs, *rhs);
    case ast::BinaryOp::FloorDiv:
      return Size::floorDiv(*lhs, *rhs);
    case ast::BinaryOp::Mod:
      return Size::mod(*lhs, *rhs);
    default:
      return fail("sizes have no operator '" + ast::spelling(binary->op) + "'");
    }
  }
  if (const auto *call = dyn_cast<ast::CallExpr>(&e)) {
    StringRef callee = call->calleeName();
    bool isMin = callee == "min" || callee == "minimum", isMax = callee == "max" || callee == "maximum";
    if ((isMin || isMax) && call->args.size() == 2) {
      std::optional<Size> a = sizeInType(*call->args[0].value, in, quiet),
                          b = sizeInType(*call->args[1].value, in, quiet);
      if (!a || !b)
        return std::nullopt;
      return isMin ? Size::min(*a, *b) : Size::max(*a, *b);
    }
    if (callee == "axis_size" && call->args.size() == 1)
      if (const auto *axis = dyn_cast<ast::StringExpr>(call->args[0].value.get()))
        return axisSizeIn(builder.getInsertionBlock(), axis->value);
  }
  return fail("expected a size, got '" + sourceText(e.range) + "'");
}

//===----------------------------------------------------------------------===//
// Binding and checking
//===----------------------------------------------------------------------===//

/// The position of `...` in a list of sizes, or -1.
static int ellipsisIn(const ast::NamedType &type) {
  for (auto [i, size] : enumerate(type.sizes))
    if (isa<ast::EllipsisExpr>(size.get()))
      return i;
  return -1;
}

/// Pairs each dimension of an annotation with a size of the value: calls `visit(expression, size, dimension)`. False
/// when the ranks do not fit.
static bool pairDimensions(const ast::NamedType &type, ArrayRef<Size> sizes,
                           function_ref<void(const ast::Expr &, const Size &, unsigned)> visit) {
  int ellipsis = ellipsisIn(type);
  size_t named = type.sizes.size() - (ellipsis >= 0);
  if (ellipsis < 0 ? named != sizes.size() : named > sizes.size())
    return false;
  size_t skip = sizes.size() - named;
  for (auto [i, e] : enumerate(type.sizes)) {
    if (static_cast<int>(i) == ellipsis)
      continue;
    size_t dim = ellipsis >= 0 && static_cast<int>(i) > ellipsis ? i - 1 + skip : i;
    visit(*e, sizes[dim], dim);
  }
  return true;
}

void Elaborator::bindSizes(const Value &value, const ast::Type &type, const TypeContext &in) {
  if (!value || value.isError())
    return;
  const auto *tuple = value.as<TupleValue>();
  if (const auto *tupleType = dyn_cast<ast::TupleType>(&type)) {
    if (tuple && tuple->elements.size() == tupleType->elements.size())
      for (auto [element, elementType] : zip(tuple->elements, tupleType->elements))
        bindSizes(element, *elementType, in);
    return;
  }
  if (const auto *recordType = dyn_cast<ast::RecordType>(&type)) {
    if (tuple && tuple->elements.size() == recordType->fields.size())
      for (auto [element, field] : zip(tuple->elements, recordType->fields))
        bindSizes(element, *field.type, in);
    return;
  }
  const auto &named = cast<ast::NamedType>(type);
  std::optional<NamedTarget> target = resolveType(named, in.module, /*quiet=*/true);
  if (!target)
    return;
  if (target->decl) {
    if (named.sizes.size() != target->decl->params.size())
      return;
    std::optional<SizeArguments> arguments = argumentsOf(named, *target, in);
    TypeContext inside = in;
    inside.module = target->module;
    inside.arguments = &*arguments;
    return bindSizes(value, *target->decl->type, inside);
  }
  if (!isArrayLike(value))
    return;
  pairDimensions(named, sizesOf(value), [&](const ast::Expr &e, const Size &size, unsigned) {
    TypeContext where;
    const ast::NameExpr *name = loneName(e, in, where);
    if (name && !where.arguments && !in.binds->count(name->name) && !sizeInType(*name, where, /*quiet=*/true))
      (*in.binds)[name->name] = Value::size(size, name->range);
  });
}

/// `n+1` against a size solves for an unbound `n`: exactly one unknown name, to the first power, with coefficient 1 or
/// -1.
void Elaborator::solveSizes(const Value &value, const ast::Type &type, const TypeContext &in) {
  const auto *named = dyn_cast<ast::NamedType>(&type);
  if (!value || !named || !isArrayLike(value) || in.arguments)
    return;
  std::optional<NamedTarget> target = resolveType(*named, in.module, /*quiet=*/true);
  if (!target || target->decl)
    return;
  pairDimensions(*named, sizesOf(value), [&](const ast::Expr &e, const Size &size, unsigned) {
    const ast::NameExpr *unknown = nullptr;
    unsigned count = 0;
    ast::walk(e, [&](const ast::Expr &part) {
      if (const auto *name = dyn_cast<ast::NameExpr>(&part); name && !sizeInType(*name, in, /*quiet=*/true)) {
        count += !unknown || unknown->name != name->name;
        unknown = name;
      }
      return !isa<ast::CallExpr>(&part);
    });
    if (count != 1)
      return;
    StringMap<Value> trial = *in.binds;
    trial[unknown->name] = Value::size(Size::symbol("$unknown"), unknown->range);
    TypeContext with = in;
    with.binds = &trial;
    std::optional<Size> polynomial = sizeInType(e, with, /*quiet=*/true);
    std::optional<std::pair<Size, Size>> linear = polynomial ? polynomial->linearIn("$unknown") : std::nullopt;
    if (!linear)
      return;
    if (linear->first.isConstant(1))
      (*in.binds)[unknown->name] = Value::size(size - linear->second, unknown->range);
    else if (linear->first.isConstant(-1))
      (*in.binds)[unknown->name] = Value::size(linear->second - size, unknown->range);
    else if (auto a = linear->first.constant(), b = (size - linear->second).constant(); a && b && *a && *b % *a == 0)
      (*in.binds)[unknown->name] = Value::integer(*b / *a, unknown->range);
  });
}

std::string Elaborator::renderAnnotation(const ast::Type &type) const { return sourceText(type.range, 80); }

Value Elaborator::checkAgainst(const Value &value, const ast::Type &type, const TypeContext &in,
                               const std::string &subject, SourceRange at) {
  if (!value || value.isError())
    return Value::error();
  const auto *tuple = value.as<TupleValue>();
  auto wrongKind = [&]() -> Value {
    return error(Code::E0308, at,
                 subject + ": expected " + renderAnnotation(type) + ", got " +
                     (isArrayLike(value) || tuple ? render(value) : describeKind(value)))
        .note(type.range, "the type is written here");
  };

  if (const auto *tupleType = dyn_cast<ast::TupleType>(&type)) {
    if (!tuple || tuple->elements.size() != tupleType->elements.size())
      return wrongKind();
    SmallVector<Value, 4> elements;
    bool failed = false;
    for (auto [i, element, elementType] : enumerate(tuple->elements, tupleType->elements)) {
      elements.push_back(checkAgainst(element, *elementType, in, subject + ", element " + std::to_string(i), at));
      failed |= elements.back().isError();
    }
    return failed ? Value::error() : Value::tuple(std::move(elements), value.range());
  }

  if (const auto *recordType = dyn_cast<ast::RecordType>(&type)) {
    bool sameNames = tuple && tuple->isRecord() && tuple->elements.size() == recordType->fields.size();
    for (size_t i = 0; sameNames && i < tuple->names.size(); ++i)
      sameNames = tuple->names[i] == recordType->fields[i].name.text;
    if (!sameNames)
      return wrongKind();
    SmallVector<Value, 4> elements;
    bool failed = false;
    for (auto [element, field] : zip(tuple->elements, recordType->fields)) {
      elements.push_back(checkAgainst(element, *field.type, in, subject + ", field '" + field.name.text + "'", at));
      failed |= elements.back().isError();
    }
    return failed ? Value::error() : Value::record(std::move(elements), tuple->names, value.range(), tuple->typeName);
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
    Value checked = checkAgainst(value, *target->decl->type, inside, subject, at);
    if (const auto *record = checked.as<TupleValue>(); record && record->isRecord())
      return Value::record(record->elements, record->names, record->range, target->decl->name.text);
    return checked;
  }

  if (target->hole && !named.hasSizes)
    return value; // `_` fixes nothing
  if (!isArrayLike(value))
    return wrongKind();

  // The dtype first: a weak value takes it, a strong one must have it.
  std::optional<DType> given = dtypeOf(value);
  if (target->dtype && given && *given != *target->dtype) {
    Report report = error(Code::E0308, at, subject + ": expected " + renderAnnotation(type) + ", got " + render(value));
    report.note(type.range, "the type is written here");
    noteDType(report, value);
    if (*target->dtype != DType::Key && *given != DType::Key && value.range().isValid())
      report.fix(value.range(), dtypeName(*target->dtype) + "(" + value.range().text() + ")");
    return report;
  }
  Value made = value;
  if (target->dtype) {
    if (!isDistributed(value))
      made = materialize(value, target->dtype);
    if (made.isError())
      return made;
  }

  SmallVector<Size> sizes = sizesOf(made);
  bool failed = false;
  bool fits = pairDimensions(named, sizes, [&](const ast::Expr &e, const Size &size, unsigned dim) {
    if (isa<ast::HoleExpr>(&e))
      return;
    std::optional<Size> expected = sizeInType(e, in);
    if (!expected) {
      failed = true;
      return;
    }
    if (*expected == size)
      return;
    failed = true;
    if (assumedEqual(*expected, size))
      return;
    Report report = error(Code::E0401, at,
                          subject + ": expected size " + render(*expected) + " in dimension " + Twine(dim) + ", got " +
                              render(size) + " (" + renderAnnotation(type) + " against " + render(made) + ")");
    report.note(e.range, "'" + sourceText(e.range) + "' stands here");
    noteBirths(report, *expected);
    noteBirths(report, size);
  });
  if (!fits)
    return error(Code::E0403, at,
                 subject + ": expected " + renderAnnotation(type) + ", of " + Twine(named.sizes.size()) +
                     " dimensions, got " + render(made))
        .note(type.range, "the type is written here");
  return failed ? Value::error() : made;
}

} // namespace pmap::sema
