// Functions: closures, how arguments find their parameters, and calls.
#include "compiler/Sema/BoundNames.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/ForeignNames.h"
#include "compiler/Sema/Modules.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static std::string renderParameters(const FunctionValue &function) {
  std::string text = "(";
  for (auto [i, parameter] : enumerate(function.parameters)) {
    text += i ? ", " : "";
    if (parameter.variadic)
      text += "*";
    text += parameter.name;
    if (parameter.namedOnly)
      text += ":";
  }
  return text + ")";
}

std::optional<SmallVector<Value, 4>> Elaborator::bindArguments(const FunctionValue &function,
                                                               ArrayRef<Argument> arguments, SourceRange callRange) {
  SmallVector<Value, 4> bound(function.parameters.size());
  SmallVector<Value, 4> rest;
  SmallVector<SourceRange, 4> places(function.parameters.size());
  bool failed = false;
  size_t next = 0, given = 0, positional = 0;
  int variadic = -1;
  for (auto [i, parameter] : enumerate(function.parameters)) {
    positional += !parameter.namedOnly;
    if (parameter.variadic)
      variadic = i;
  }
  auto noteHere = [&](Report &report) {
    report.note(function.range, "'" + function.name + "' takes " + renderParameters(function));
  };

  for (const Argument &argument : arguments) {
    failed |= argument.value.isError();
    if (argument.label.empty()) {
      ++given;
      while (next < bound.size() && (function.parameters[next].namedOnly || bound[next]))
        ++next;
      if (next < bound.size() && function.parameters[next].variadic) {
        rest.push_back(argument.value);
      } else if (next < bound.size()) {
        bound[next] = argument.value;
        places[next] = argument.range;
      }
      continue;
    }
    auto *found = find_if(function.parameters, [&](const Parameter &p) { return p.name == argument.label; });
    if (found == function.parameters.end()) {
      Report report =
          error(Code::E0502, argument.labelRange, "'" + function.name + "' has no parameter '" + argument.label + "'");
      SmallVector<StringRef> names;
      for (const Parameter &parameter : function.parameters)
        names.push_back(parameter.name);
      if (StringRef other = renamedLabel(argument.label); is_contained(names, other))
        report.fix(argument.labelRange, other);
      else if (std::optional<StringRef> near = nearest(argument.label, names))
        report.fix(argument.labelRange, *near);
      noteHere(report);
      failed = true;
      continue;
    }
    size_t index = found - function.parameters.begin();
    if (bound[index]) {
      error(Code::E0503, argument.range, "the parameter '" + argument.label + "' is given twice")
          .note(places[index], "it is already given here");
      failed = true;
      continue;
    }
    bound[index] = argument.value;
    places[index] = argument.range;
  }

  if (variadic < 0 && given > positional) {
    Report report = error(Code::E0501, callRange,
                          "'" + function.name + "' takes " + Twine(positional) + " argument" +
                              (positional == 1 ? "" : "s") + ", got " + Twine(given));
    noteHere(report);
    // What NumPy takes by position, `sum(x, 0)`, has a name here.
    bool isExtremum = !function.decl && (function.name == "max" || function.name == "min") && given == 2;
    if (isExtremum) {
      report.note(SourceRange(), "the " + std::string(function.name == "max" ? "larger" : "smaller") +
                                     " of two, element by element, is '" + function.name + "imum(a, b)'");
      // A literal integer may be a dimension, as in NumPy; anything else is not.
      const Value *second = nullptr;
      for (const Argument &argument : arguments)
        if (argument.label.empty())
          second = &argument.value;
      if (!second || !second->is(ValueKind::Int))
        return std::nullopt;
    }
    const auto *named = find_if(function.parameters, [](const Parameter &p) { return p.namedOnly; });
    if (given == positional + 1 && named != function.parameters.end()) {
      size_t count = 0;
      for (const Argument &argument : arguments)
        if (argument.label.empty() && ++count == given && argument.range.isValid())
          report.fix(argument.range.startPoint(), named->name + ": ");
    }
    return std::nullopt;
  }
  if (variadic >= 0 && !bound[variadic])
    bound[variadic] = Value::tuple(std::move(rest), callRange);

  std::string missing;
  for (auto [i, parameter] : enumerate(function.parameters)) {
    if (bound[i])
      continue;
    if (parameter.optional) {
      if (function.defaultOf)
        bound[i] = function.defaultOf(*this, i);
      continue;
    }
    missing += (missing.empty() ? "'" : ", '") + parameter.name + "'";
  }
  if (!missing.empty() && !failed) {
    Report report = error(Code::E0501, callRange, "the call of '" + function.name + "' does not give " + missing);
    noteHere(report);
    failed = true;
  }
  if (failed)
    return std::nullopt;
  return bound;
}

Value Elaborator::callBound(const Value &function, ArrayRef<Value> arguments, SourceRange callRange) {
  const auto *callee = function.as<FunctionValue>();
  if (!callee) {
    if (const auto *type = function.as<TypeValue>(); type && type->dtype && arguments.size() == 1)
      return convert(arguments[0], *type->dtype, callRange);
    if (!function || function.isError())
      return Value::error();
    return error(Code::E0504, callRange, "expected a function, got " + describeKind(function));
  }
  for (const Value &argument : arguments)
    if (argument.isError())
      return Value::error();
  return callee->call(*this, arguments, callRange);
}

Value Elaborator::callFunction(const Value &function, ArrayRef<Argument> arguments, SourceRange callRange) {
  if (!function || function.isError())
    return Value::error();
  if (const auto *type = function.as<TypeValue>())
    return construct(*type, arguments, callRange);
  const auto *callee = function.as<FunctionValue>();
  if (!callee)
    return error(Code::E0504, callRange,
                 "expected a function to call, got " +
                     (isArrayLike(function) ? render(function) : describeKind(function)));
  std::optional<SmallVector<Value, 4>> bound = bindArguments(*callee, arguments, callRange);
  if (!bound)
    return Value::error();
  return callBound(function, *bound, callRange);
}

Value Elaborator::apply(const Value &function, ArrayRef<Value> arguments, SourceRange callRange) {
  SmallVector<Argument> written;
  for (const Value &value : arguments)
    written.push_back({"", value, value.range().isValid() ? value.range() : callRange, SourceRange()});
  return callFunction(function, written, callRange);
}

Value Elaborator::construct(const TypeValue &type, ArrayRef<Argument> arguments, SourceRange range) {
  if (type.dtype) {
    if (arguments.size() != 1 || !arguments[0].label.empty())
      return error(Code::E0501, range,
                   "the conversion " + dtypeName(*type.dtype) + "(x) takes one argument, got " +
                       Twine(arguments.size()));
    return convert(arguments[0].value, *type.dtype, range);
  }

  // A constructor's parameters are the fields of its record, its sizes are bound by what the fields get.
  const ast::TypeItem &decl = *type.decl;
  const auto *recordType = dyn_cast<ast::RecordType>(decl.type.get());
  const auto *tupleType = dyn_cast<ast::TupleType>(decl.type.get());
  SmallVector<Parameter, 4> parameters;
  if (recordType)
    for (const ast::RecordTypeField &field : recordType->fields)
      parameters.push_back({field.name.text});
  else if (tupleType)
    for (size_t i = 0; i < tupleType->elements.size(); ++i)
      parameters.push_back({std::to_string(i)});
  else
    parameters.push_back({"value"});
  FunctionValue signature(decl.name.text, parameters, nullptr, decl.name.range);
  std::optional<SmallVector<Value, 4>> bound = bindArguments(signature, arguments, range);
  if (!bound)
    return Value::error();

  StringMap<Value> binds;
  Scope savedScope = std::exchange(scope, nullptr);
  TypeContext in{type.module, &binds, /*canBind=*/true, nullptr};
  Value whole;
  if (recordType) {
    SmallVector<std::string, 4> names;
    for (const ast::RecordTypeField &field : recordType->fields)
      names.push_back(field.name.text);
    whole = Value::record(*bound, names, range, decl.name.text);
  } else if (tupleType) {
    whole = Value::tuple(*bound, range);
  } else {
    whole = (*bound)[0];
  }
  bindSizes(whole, *decl.type, in);
  Value checked = checkAgainst(whole, *decl.type, in, "'" + decl.name.text + "'", range);
  scope = savedScope;
  return checked;
}

//===----------------------------------------------------------------------===//
// Closures
//===----------------------------------------------------------------------===//

namespace {

/// What a function written in Pmap is: its text, and what it sees.
struct Closure {
  std::string name;
  const std::vector<ast::Param> *params;
  const ast::Type *resultType;
  const ast::Expr *body;
  Scope scope;
  Store store;
  LoadedModule *module;
  const ast::FunctionItem *decl;
};

} // namespace

void sizeNames(const ast::Type *type, StringSet<> &names) {
  if (const auto *named = dyn_cast_or_null<ast::NamedType>(type))
    for (const ast::ExprPtr &size : named->sizes)
      ast::walk(*size, [&](const ast::Expr &e) {
        if (const auto *name = dyn_cast<ast::NameExpr>(&e))
          names.insert(name->name);
        return true;
      });
  if (const auto *tuple = dyn_cast_or_null<ast::TupleType>(type))
    for (const ast::TypePtr &element : tuple->elements)
      sizeNames(element.get(), names);
  if (const auto *record = dyn_cast_or_null<ast::RecordType>(type))
    for (const ast::RecordTypeField &field : record->fields)
      sizeNames(field.type.get(), names);
}

static Value callClosure(Elaborator &e, const Closure &closure, ArrayRef<Value> arguments, SourceRange callRange) {
  if (closure.decl) {
    if (closure.module->recursive.contains(closure.decl))
      return Value::error();
    closure.module->instantiated.insert(closure.decl);
  }
  // Without recursion by name only a function that is handed itself can get here.
  constexpr size_t kMaxDepth = 150;
  if (e.calls.size() >= kMaxDepth)
    return e.error(Code::E0506, callRange,
                   "calls nest more than " + Twine(kMaxDepth) + " deep; functions cannot recurse");

  Scope savedScope = std::exchange(e.scope, closure.scope);
  Store savedStore = std::exchange(e.store, closure.store);
  LoadedModule *savedModule = std::exchange(e.currentModule, closure.module);
  VarId savedFirst = std::exchange(e.firstAssignable, e.nextVar);
  std::optional<VarId> savedFlag = std::exchange(e.breakFlag, std::nullopt);
  e.calls.push_back({closure.name, callRange});

  // Integer parameters may be sizes of others (`k: i32` in `x: f32[k]`); the lone names of the other sizes are then
  // bound by the first argument that has them.
  StringMap<Value> binds;
  StringSet<> used;
  for (const ast::Param &param : *closure.params)
    sizeNames(param.type.get(), used);
  for (auto [param, argument] : zip(*closure.params, arguments))
    if (used.contains(param.name.text) && argument && e.isArrayLike(argument) && e.rankOf(argument) == 0)
      binds[param.name.text] = argument;
  Elaborator::TypeContext in{closure.module, &binds, /*canBind=*/true, nullptr};
  for (auto [param, argument] : zip(*closure.params, arguments))
    if (param.type)
      e.bindSizes(argument, *param.type, in);
  for (auto [param, argument] : zip(*closure.params, arguments))
    if (param.type)
      e.solveSizes(argument, *param.type, in);

  // Of an argument that is not known (CheckAlone.cpp) the sizes are not known either.
  for (auto [param, argument] : zip(*closure.params, arguments))
    if (argument && argument.isError()) {
      StringSet<> sizes;
      sizeNames(param.type.get(), sizes);
      for (const auto &size : sizes)
        if (!closure.module->find(size.first()))
          binds.try_emplace(size.first(), Value::error());
    }

  bool failed = false;
  Scope inner = e.scope;
  for (auto [param, argument] : zip(*closure.params, arguments)) {
    Value value = argument;
    if (param.type && !(argument && argument.isError())) {
      SourceRange at = argument && argument.range().isValid() ? argument.range() : callRange;
      value = e.checkAgainst(argument, *param.type, in, "argument '" + param.label.text + "' of '" + closure.name + "'",
                             at);
    }
    failed |= value.isError() && !(argument && argument.isError());
    tellBound(e, param.name.text, value, param.name.range);
    e.noteDimensions(value);
    inner = bind(inner, param.name.text, value, param.name.range);
  }
  StringSet<> parameterNames;
  for (const ast::Param &param : *closure.params)
    parameterNames.insert(param.name.text);
  for (const auto &entry : binds)
    if (!parameterNames.contains(entry.first()))
      inner = bind(inner, entry.first().str(), entry.second, entry.second.range());

  Value result = Value::error();
  if (!failed) {
    e.scope = inner;
    result = e.expression(*closure.body);
    if (closure.resultType && !result.isError()) {
      Elaborator::TypeContext out{closure.module, &binds, /*canBind=*/false, nullptr};
      SourceRange at = closure.body->range;
      if (const auto *block = dyn_cast<ast::BlockExpr>(closure.body); block && block->result())
        at = block->result()->range;
      result = e.checkAgainst(result, *closure.resultType, out, "the result of '" + closure.name + "'", at);
    }
    if (closure.decl) {
      const auto *block = dyn_cast<ast::BlockExpr>(closure.body);
      tellBound(e, "", result, block && block->result() ? block->result()->range : closure.body->range);
    }
  }

  e.calls.pop_back();
  e.scope = savedScope;
  e.store = savedStore;
  e.currentModule = savedModule;
  e.firstAssignable = savedFirst;
  e.breakFlag = savedFlag;
  return result;
}

static Value makeClosure(Closure closure, SourceRange range) {
  SmallVector<Parameter, 4> parameters;
  for (const ast::Param &param : *closure.params)
    parameters.push_back({param.label.text, false, param.defaultValue != nullptr, false});
  std::string name = closure.name;
  auto shared = std::make_shared<const Closure>(std::move(closure));
  auto call = [shared](Elaborator &e, ArrayRef<Value> arguments, SourceRange callRange) {
    return callClosure(e, *shared, arguments, callRange);
  };
  auto defaultOf = [shared](Elaborator &e, unsigned parameter) {
    // A default sees what the function sees, and not the other parameters.
    Scope savedScope = std::exchange(e.scope, shared->scope);
    Store savedStore = std::exchange(e.store, shared->store);
    LoadedModule *savedModule = std::exchange(e.currentModule, shared->module);
    Value value = e.expression(*(*shared->params)[parameter].defaultValue);
    e.scope = savedScope;
    e.store = savedStore;
    e.currentModule = savedModule;
    return value;
  };
  Value function = makeFunction(name, std::move(parameters), std::move(call), range, std::move(defaultOf));
  // Only this file makes closures, so only here is the declaration filled in before anyone else sees the value.
  auto *data = const_cast<FunctionValue *>(function.as<FunctionValue>());
  data->decl = shared->decl;
  data->module = shared->module;
  return function;
}

Value Elaborator::lambdaExpression(const ast::LambdaExpr &e) {
  std::string name = "fn(";
  for (auto [i, param] : enumerate(e.params))
    name += (i ? ", " : "") + param.name.text;
  return makeClosure({name + ")", &e.params, e.resultType.get(), e.body.get(), scope, store, currentModule, nullptr},
                     e.range);
}

Value Elaborator::functionValue(const ast::FunctionItem &decl, LoadedModule &module) {
  return makeClosure(
      {decl.name.text, &decl.params, decl.resultType.get(), decl.body.get(), nullptr, Store(), &module, &decl},
      decl.name.range);
}

} // namespace pmap::sema
