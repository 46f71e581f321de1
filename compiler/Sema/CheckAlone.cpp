// The check of what no entry reaches (`pmapc check` of a library, a function that nobody calls yet): each function by
// itself, as far as its parameters tell what it is given.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/Modules.h"
#include "compiler/Sema/UnknownNames.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// Sizes that only a caller knows
//===----------------------------------------------------------------------===//

/// Whether a size speaks of devices that no pmap here brings: the axes of the caller, the devices of the run.
static bool isOfCaller(const Elaborator &e, const Size &size) {
  return any_of(size.symbols(), [&](const std::string &name) {
    return name[0] == '@' && none_of(e.meshes, [&](const MeshContext &mesh) {
             return !mesh.open && is_contained(mesh.axes, name.substr(1));
           });
  });
}

bool Elaborator::assumedEqual(const Size &a, const Size &b) {
  if (!assumptions)
    return false;
  Size difference = a - b;
  if (difference.isConstant() || difference.overflowed() || !isOfCaller(*this, difference))
    return false;
  // On arrays without elements and axes of one device everything fits; what fits nowhere else is wrong (C4).
  Size usual = difference.substitute([](StringRef name) { return Size::symbol(name) + Size(1); });
  if (usual.provablyDiffers(Size(0)))
    return false;
  // The caller's sizes then are such that they agree: one of them follows from the others.
  for (bool constantSlope : {true, false})
    for (const std::string &name : difference.symbols()) {
      if (!assumptions->symbols.contains(name))
        continue;
      std::optional<std::pair<Size, Size>> linear = difference.linearIn(name);
      if (!linear || linear->first.isConstant() != constantSlope || linear->first.isConstant(0))
        continue;
      Size value = Size::exactQuotient(-linear->second, linear->first);
      if (value.mentions(name) || value.overflowed())
        continue;
      for (auto &[other, known] : assumptions->sizes)
        known = known.substitute(name, value);
      assumptions->sizes[name] = value;
      assumptions->grew = true;
      return true;
    }
  return true;
}

bool Elaborator::assumedEqual(ArrayRef<Size> a, ArrayRef<Size> b) {
  if (!assumptions || a.size() != b.size())
    return false;
  for (auto [p, q] : zip(a, b))
    if (p != q && !assumedEqual(p, q))
      return false;
  return true;
}

bool Elaborator::assumedToFit(ArrayRef<Size> part, ArrayRef<Size> whole) {
  if (!assumptions || part.size() > whole.size())
    return false;
  for (auto [p, q] : zip(part, whole.take_back(part.size())))
    if (p != q && !p.isConstant(1) && !assumedEqual(p, q))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

void Elaborator::checkFunction(const ast::FunctionItem &function, LoadedModule &program, mlir::ModuleOp aside) {
  Assumptions assumed;
  std::vector<Diagnostic> errors;
  // Where sizes disagree that only a caller knows, the next round takes them to agree: what is then still wrong is
  // wrong for every caller. Each round takes one size of a parameter away, so the rounds end.
  do {
    reset();
    currentModule = &program;
    builder.setInsertionPointToEnd(aside.getBody()); // the function before may be gone
    MeshContext open;
    open.open = true;
    meshes.push_back(open);
    assumed.grew = false;
    assumed.symbols.clear();
    assumptions = &assumed;
    errors.clear();
    // Warnings about variance mean nothing where it is not known.
    DiagnosticTrial trial(diagnostics);
    elaborateFunction(function, program, aside, /*isEntry=*/false);
    for (const Diagnostic &diagnostic : trial.reported())
      if (diagnostic.severity == Severity::Error)
        errors.push_back(diagnostic);
    assumptions = nullptr;
  } while (assumed.grew);
  for (Diagnostic &diagnostic : errors)
    diagnostics.report(std::move(diagnostic));
}

void Elaborator::checkUnreached(LoadedModule &program, unsigned tests) {
  builder.clearInsertionPoint(); // of the last entry, which is gone if it was wrong
  mlir::OwningOpRef<mlir::ModuleOp> aside = mlir::ModuleOp::create(builder, mlir::UnknownLoc::get(&context));
  for (const ast::ItemPtr &item : program.ast->items) {
    reset();
    currentModule = &program;
    builder.setInsertionPointToEnd(aside->getBody());
    if (const auto *constItem = dyn_cast<ast::ConstItem>(item.get()))
      dryRunReporting([&] { constant(*constItem, program, constItem->name.range); });
    if (const auto *type = dyn_cast<ast::TypeItem>(item.get()))
      checkTypeItem(*type, program);
    if (const auto *test = dyn_cast<ast::TestItem>(item.get()); test && !options.tests)
      elaborateTest(*test, program, *aside, tests++);
  }
  // Callers first: what a function is called with says more of it than its own parameters.
  for (const ast::FunctionItem *function : reverse(program.calleesFirst)) {
    if (program.instantiated.contains(function) || program.recursive.contains(function) ||
        (isEntry(*function) && options.entries))
      continue;
    bool isGeneric = any_of(function->params, [](const ast::Param &p) { return !p.type || !isConcrete(*p.type); });
    reset();
    currentModule = &program;
    if (!isGeneric || !reportUnknownNames(*this, *function))
      checkFunction(*function, program, *aside);
  }
  reset();
}

bool Elaborator::isConcrete(const ast::Type &type) {
  if (const auto *tuple = dyn_cast<ast::TupleType>(&type))
    return all_of(tuple->elements, [](const ast::TypePtr &t) { return isConcrete(*t); });
  if (const auto *record = dyn_cast<ast::RecordType>(&type))
    return all_of(record->fields, [](const ast::RecordTypeField &f) { return isConcrete(*f.type); });
  const auto &named = cast<ast::NamedType>(type);
  return !named.isHole() && none_of(named.sizes, [](const ast::ExprPtr &size) {
    return isa<ast::EllipsisExpr>(size.get()) || isa<ast::HoleExpr>(size.get());
  });
}

void Elaborator::checkTypeItem(const ast::TypeItem &item, LoadedModule &module) {
  // Every name in a declaration is one of its parameters, or a const of the module.
  StringMap<Value> binds;
  for (const ast::Ident &param : item.params)
    binds[param.text] = Value::integer(1, param.range);
  TypeContext in{&module, &binds, false, nullptr};
  std::function<void(const ast::Type &)> check = [&](const ast::Type &type) {
    if (const auto *tuple = dyn_cast<ast::TupleType>(&type))
      for (const ast::TypePtr &element : tuple->elements)
        check(*element);
    if (const auto *record = dyn_cast<ast::RecordType>(&type))
      for (const ast::RecordTypeField &field : record->fields)
        check(*field.type);
    const auto *named = dyn_cast<ast::NamedType>(&type);
    std::optional<NamedTarget> target = named ? resolveType(*named, &module) : std::nullopt;
    if (!target)
      return;
    if (target->decl == &item) {
      error(Code::E0209, named->range, "type '" + item.name.text + "' holds itself");
      return;
    }
    if (target->decl)
      argumentsOf(*named, *target, in);
    for (const ast::ExprPtr &size : named->sizes)
      if (!isa<ast::EllipsisExpr>(size.get()) && !isa<ast::HoleExpr>(size.get()))
        dryRunReporting([&] { sizeInType(*size, in); });
  };
  check(*item.type);
}

} // namespace pmap::sema
