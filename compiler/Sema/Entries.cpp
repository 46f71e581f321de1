// Entry points: one function of the module for `main`, each `export fn` and each test, with the signature that loaders
// read. A function that is only checked is made in the same way.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/Modules.h"
#include "compiler/Sema/ProgramSignature.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// Parameters of an entry
//===----------------------------------------------------------------------===//

namespace {

/// Makes the values of an entry's parameters: symbols for the sizes their types name, and one argument per leaf.
struct EntryBuilder {
  Elaborator &e;
  mlir::Block &block;
  StringMap<Value> binds;
  SmallVector<std::string> symbols; // in the order of the index arguments
  std::vector<SignatureLeaf> leaves;
  bool overridable; // `-D` fixes sizes of real entries, not of functions that are only checked

  /// First pass: a symbol for each size that stands alone as a dimension, in the order in which they occur.
  void bindNames(const ast::Type &type, const Elaborator::TypeContext &in, const Twine &subject);
  /// A symbol for each integer parameter that occurs in a size, and stands alone nowhere: `k: i32` beside `x:
  /// f32[2*k]`.
  void bindScalars(const std::vector<ast::Param> &params, const Elaborator::TypeContext &in);
  /// Second pass: an argument for each leaf. Null (reported) when a type is not understood.
  Value make(const ast::Type &type, const Elaborator::TypeContext &in, const std::string &name, SourceRange range,
             const std::string &doc);

private:
  void addSymbol(StringRef name, SourceRange range, std::string birthText);
};

} // namespace

void EntryBuilder::bindNames(const ast::Type &type, const Elaborator::TypeContext &in, const Twine &subject) {
  if (const auto *tuple = dyn_cast<ast::TupleType>(&type)) {
    for (const ast::TypePtr &element : tuple->elements)
      bindNames(*element, in, subject);
    return;
  }
  if (const auto *record = dyn_cast<ast::RecordType>(&type)) {
    for (const ast::RecordTypeField &field : record->fields)
      bindNames(*field.type, in, subject);
    return;
  }
  const auto &named = cast<ast::NamedType>(type);
  std::optional<Elaborator::NamedTarget> target = e.resolveType(named, in.module, /*quiet=*/true);
  if (!target)
    return;
  if (target->decl) {
    if (named.sizes.size() != target->decl->params.size())
      return;
    std::optional<Elaborator::SizeArguments> arguments = e.argumentsOf(named, *target, in);
    Elaborator::TypeContext inside = in;
    inside.module = target->module;
    inside.arguments = &*arguments;
    return bindNames(*target->decl->type, inside, subject);
  }
  for (auto [dim, size] : enumerate(named.sizes)) {
    Elaborator::TypeContext where;
    const ast::NameExpr *name = e.loneName(*size, in, where);
    if (!name || where.arguments || binds.count(name->name) || e.sizeInType(*name, where, /*quiet=*/true))
      continue;
    auto fixed = e.options.sizes.find(name->name);
    if (overridable && fixed != e.options.sizes.end()) {
      binds[name->name] = Value::integer(fixed->second, name->range);
      continue;
    }
    if (e.assumptions) {
      auto assumed = e.assumptions->sizes.find(name->name);
      if (assumed != e.assumptions->sizes.end()) {
        binds[name->name] = Value::size(assumed->second, name->range);
        continue;
      }
    }
    addSymbol(name->name, name->range, ("dimension " + Twine(dim) + " of " + subject).str());
  }
}

void EntryBuilder::addSymbol(StringRef name, SourceRange range, std::string birthText) {
  SizeSymbol &symbol = e.newSymbol(name, range, std::move(birthText));
  symbol.bound = true;
  symbol.ssa = block.addArgument(e.builder.getIndexType(), e.loc(range));
  symbols.push_back(symbol.name);
  binds[name] = Value::size(Size::symbol(symbol.name), range);
}

void EntryBuilder::bindScalars(const std::vector<ast::Param> &params, const Elaborator::TypeContext &in) {
  StringSet<> used;
  for (const ast::Param &param : params)
    sizeNames(param.type.get(), used);
  for (const ast::Param &param : params) {
    const auto *type = dyn_cast_or_null<ast::NamedType>(param.type.get());
    if (!type || !type->sizes.empty() || !used.contains(param.name.text) || binds.count(param.name.text))
      continue;
    std::optional<Elaborator::NamedTarget> target = e.resolveType(*type, in.module, /*quiet=*/true);
    if (target && target->dtype && isInteger(*target->dtype))
      addSymbol(param.name.text, param.name.range, "the value of '" + param.name.text + "'");
  }
}

Value EntryBuilder::make(const ast::Type &type, const Elaborator::TypeContext &in, const std::string &name,
                         SourceRange range, const std::string &doc) {
  auto parts = [&](ArrayRef<const ast::Type *> types, ArrayRef<std::string> names, ArrayRef<std::string> docs,
                   bool isRecord, const std::string &typeName) -> Value {
    SmallVector<Value, 4> elements;
    bool failed = false;
    for (auto [i, element] : enumerate(types)) {
      elements.push_back(make(*element, in, name + "." + names[i], range, docs.empty() ? doc : docs[i]));
      failed |= elements.back().isError();
    }
    if (failed)
      return Value::error();
    return isRecord ? Value::record(std::move(elements), SmallVector<std::string, 4>(names.begin(), names.end()), range,
                                    typeName)
                    : Value::tuple(std::move(elements), range);
  };
  SmallVector<const ast::Type *> types;
  SmallVector<std::string> names, docs;
  if (const auto *tuple = dyn_cast<ast::TupleType>(&type)) {
    for (auto [i, element] : enumerate(tuple->elements)) {
      types.push_back(element.get());
      names.push_back(std::to_string(i));
    }
    return parts(types, names, docs, false, "");
  }
  if (const auto *record = dyn_cast<ast::RecordType>(&type)) {
    for (const ast::RecordTypeField &field : record->fields) {
      types.push_back(field.type.get());
      names.push_back(field.name.text);
      docs.push_back(field.doc.empty() ? doc : field.doc);
    }
    return parts(types, names, docs, true, "");
  }
  const auto &named = cast<ast::NamedType>(type);
  std::optional<Elaborator::NamedTarget> target = e.resolveType(named, in.module);
  if (!target)
    return Value::error();
  if (target->decl) {
    std::optional<Elaborator::SizeArguments> arguments = e.argumentsOf(named, *target, in);
    if (!arguments)
      return Value::error();
    Elaborator::TypeContext inside = in;
    inside.module = target->module;
    inside.arguments = &*arguments;
    Value value = make(*target->decl->type, inside, name, range, doc);
    if (const auto *record = value.as<TupleValue>(); record && record->isRecord())
      return Value::record(record->elements, record->names, range, target->decl->name.text);
    return value;
  }
  if (target->hole)
    return e.error(Code::E0507, type.range,
                   "an entry point fixes the dtype of every parameter: expected a dtype, got '_'");
  SmallVector<Size> sizes;
  for (const ast::ExprPtr &size : named.sizes) {
    if (isa<ast::EllipsisExpr>(size.get()) || isa<ast::HoleExpr>(size.get()))
      return e.error(Code::E0507, size->range,
                     "an entry point fixes the rank and names the sizes of every parameter: expected a size, got '" +
                         e.sourceText(size->range) + "'");
    std::optional<Size> found = e.sizeInType(*size, in);
    if (!found)
      return Value::error();
    if (found->constant().value_or(0) < 0)
      return e.error(Code::E0408, size->range, "a size is at least 0, got " + e.render(*found));
    sizes.push_back(*found);
  }
  mlir::Value argument = block.addArgument(e.tensorType(*target->dtype, sizes, {}), e.loc(range));
  SignatureLeaf leaf{name, *target->dtype, {}, std::nullopt, doc};
  for (const Size &size : sizes)
    leaf.sizes.push_back(size.str());
  leaves.push_back(std::move(leaf));
  return Value::array(argument, *target->dtype, range);
}

/// The default of an entry's parameter as the loader reads it; nothing when it is no literal.
static std::optional<std::string> defaultText(const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return std::to_string(integer->value);
  if (const auto *boolean = value.as<BoolValue>())
    return std::string(boolean->value ? "true" : "false");
  if (const auto *floating = value.as<FloatValue>()) {
    // The shortest text that reads back as the same number.
    for (int digits = 1; digits <= 17; ++digits) {
      char buffer[40];
      snprintf(buffer, sizeof buffer, "%.*g", digits, floating->value);
      if (strtod(buffer, nullptr) == floating->value)
        return std::string(buffer);
    }
    return std::string("nan");
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static std::string declarationText(Elaborator &e, const ast::FunctionItem &decl) {
  SourceRange range = decl.range;
  range.begin = decl.name.range.begin;
  range.end = decl.body->range.begin;
  std::string text = e.sourceText(range, 4096);
  StringRef kept = StringRef(text).rtrim();
  kept.consume_back("=");
  // Of a list that is written a line each, only the commas between its elements stay.
  std::string line = kept.rtrim().str();
  for (auto [from, to] : {std::pair("( ", "("), std::pair(", )", ")"), std::pair(" )", ")")})
    for (size_t at; (at = line.find(from)) != std::string::npos;)
      line.replace(at, StringRef(from).size(), to);
  return line;
}

/// The integer parameter `n: i32` beside `x: f32[n]` is that size, which is checked where both come from the loader.
Value Elaborator::sizeParameter(const Value &argument, const Value &size, const ast::Param &param) {
  const auto *array = argument.as<ArrayValue>();
  if (!array || !isInteger(array->dtype) || rankOf(argument) != 0)
    return argument;
  mlir::Location at = loc(param.name.range);
  Value known = Value::size(*sizeOf(size, param.name.text), param.name.range);
  mlir::Value same = mlir::arith::CmpIOp::create(builder, at, mlir::arith::CmpIPredicate::eq, array->ssa,
                                                 tensorOf(convert(known, array->dtype, param.name.range)));
  AssertOp::create(builder, at, same,
                   "the argument '" + param.name.text + "' is not the size '" + param.name.text +
                       "' of the arrays beside it");
  return known;
}

void Elaborator::elaborateFunction(const ast::FunctionItem &decl, LoadedModule &module, mlir::ModuleOp into,
                                   bool isEntry) {
  StringRef kind = decl.name.text == "main" ? "main" : "an `export fn`";
  bool failed = false;
  for (const ast::Param &param : decl.params)
    if (!param.type && isEntry) {
      error(Code::E0507, param.range,
            "the parameters of " + kind + " are annotated: expected a type for '" + param.name.text + "'")
          .fix(param.name.range.endPoint(), ": f32");
      failed = true;
    }
  if (failed)
    return;

  builder.setInsertionPointToEnd(into.getBody());
  auto function =
      mlir::func::FuncOp::create(builder, loc(decl.name.range), decl.name.text, builder.getFunctionType({}, {}));
  mlir::Block *block = function.addEntryBlock();
  EntryBuilder entry{*this, *block, {}, {}, {}, isEntry};
  currentModule = &module;
  TypeContext in{&module, &entry.binds, /*canBind=*/true, nullptr};
  for (const ast::Param &param : decl.params)
    if (param.type)
      entry.bindNames(*param.type, in, "parameter '" + param.name.text + "'");
  entry.bindScalars(decl.params, in);
  if (assumptions)
    assumptions->symbols.insert(entry.symbols.begin(), entry.symbols.end());
  Value callee = functionValue(decl, module);
  SmallVector<Value> arguments;
  for (const ast::Param &param : decl.params) {
    if (!isEntry && !(param.type && isConcrete(*param.type))) {
      arguments.push_back(Value::error()); // not known, so nothing is said of what becomes of it
      continue;
    }
    size_t firstLeaf = entry.leaves.size();
    arguments.push_back(entry.make(*param.type, in, param.label.text, param.name.range, param.doc));
    failed |= arguments.back().isError();
    if (!param.defaultValue || !isEntry)
      continue;
    // A default is for the loader, which reads literals.
    Value value;
    bool ok = dryRunReporting([&] { value = expression(*param.defaultValue); });
    std::optional<std::string> text = defaultText(value);
    if (ok && (!text || entry.leaves.size() != firstLeaf + 1 || !entry.leaves[firstLeaf].sizes.empty()))
      error(Code::E0509, param.defaultValue->range,
            "the default of a parameter of " + kind + " is a literal of a scalar, got '" +
                sourceText(param.defaultValue->range) + "'");
    else if (ok) {
      dryRunReporting([&] {
        checkAgainst(value, *param.type, in, "the default of '" + param.name.text + "'", param.defaultValue->range);
      });
      entry.leaves[firstLeaf].defaultText = text;
    }
  }
  if (failed) {
    function.erase();
    return;
  }

  Value result;
  builder.setInsertionPointToEnd(block);
  for (auto [param, argument] : zip(decl.params, arguments))
    if (auto size = entry.binds.find(param.name.text); size != entry.binds.end())
      argument = sizeParameter(argument, size->second, param);
  // Not by `callBound`, which takes an argument that is not known for one that failed.
  result = callee.as<FunctionValue>()->call(*this, arguments, SourceRange());
  SourceRange at = decl.body->range;
  if (const auto *body = dyn_cast<ast::BlockExpr>(decl.body.get()); body && body->result())
    at = body->result()->range;
  finishEntry(function, result, at, isEntry, [&](ProgramSignature &signature, const Value &returned) {
    signature.kind = decl.name.text == "main" ? EntryKind::Main : EntryKind::Export;
    signature.name = decl.name.text;
    signature.declaration = declarationText(*this, decl);
    if (!decl.resultType)
      signature.declaration += " -> " + render(returned);
    signature.doc = decl.doc;
    signature.symbols.assign(entry.symbols.begin(), entry.symbols.end());
    signature.parameters = entry.leaves;
  });
}

void Elaborator::finishEntry(mlir::func::FuncOp function, const Value &result, SourceRange at, bool isEntry,
                             function_ref<void(ProgramSignature &, const Value &returned)> describe) {
  if (!result || result.isError()) {
    if (!diagnostics.hasErrors() && isEntry)
      error(Code::E1201, at, "this failed to compile, and nothing says why");
    function.erase();
    return;
  }
  ProgramSignature signature;
  SmallVector<Value> leaves, arrays;
  SmallVector<std::string> names;
  flatten(result, leaves);
  leafNames(result, "", names);
  SmallVector<mlir::Value> results;
  for (auto [leaf, name] : zip(leaves, names)) {
    if (!isArrayLike(leaf)) {
      if (isEntry)
        error(Code::E0508, at,
              "'" + function.getName() + "' returns " + describeKind(leaf) +
                  (name.empty() ? "" : " in '" + name + "'") + ", which exists only at compile time: expected arrays");
      function.erase();
      return;
    }
    Value made = materialize(leaf);
    const auto *array = made.as<ArrayValue>();
    if (!array) {
      function.erase();
      return;
    }
    results.push_back(array->ssa);
    arrays.push_back(made);
    SignatureLeaf described{name, array->dtype, {}, std::nullopt, ""};
    for (const Size &size : sizesOf(made))
      described.sizes.push_back(render(size));
    signature.results.push_back(std::move(described));
  }
  describe(signature, rebuild(result, arrays));
  mlir::func::ReturnOp::create(builder, loc(at), results);
  function.setType(
      builder.getFunctionType(function.getBody().getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  SmallVector<StringRef> symbolNames(signature.symbols.begin(), signature.symbols.end());
  function->setAttr("pmap.sizes", builder.getStrArrayAttr(symbolNames));
  function.walk([&](MapOp) { signature.isParallel = true; });
  setSignature(function, signature);
}

void Elaborator::elaborateTest(const ast::TestItem &test, LoadedModule &module, mlir::ModuleOp into, unsigned number) {
  builder.setInsertionPointToEnd(into.getBody());
  auto function = mlir::func::FuncOp::create(builder, loc(test.nameRange), "test." + std::to_string(number),
                                             builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  currentModule = &module;
  unsigned before = diagnostics.errorCount();
  blockExpression(*test.body, /*asStatement=*/true);
  function->setAttr("pmap.test", builder.getStringAttr(test.name));
  Value result = diagnostics.errorCount() == before ? Value::unit(test.range) : Value::error();
  finishEntry(function, result, test.range, true, [&](ProgramSignature &signature, const Value &) {
    signature.kind = EntryKind::Test;
    signature.name = test.name;
  });
}

} // namespace pmap::sema
