#include "compiler/Driver/ProgramTable.h"

#include "pmap/program.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <algorithm>

namespace pmap {
namespace {

// The compiler's enumerators and the runtime's are the same numbers, in the same order.
static_assert(static_cast<int>(DType::Bool) == PMAP_bool && static_cast<int>(DType::I64) == PMAP_i64 &&
              static_cast<int>(DType::U8) == PMAP_u8 && static_cast<int>(DType::F16) == PMAP_f16 &&
              static_cast<int>(DType::F64) == PMAP_f64 && static_cast<int>(DType::Key) == PMAP_key);

/// Builds constants that mirror the C structs of pmap/program.h; LLVM lays out literal structs as C does.
class TableBuilder {
public:
  explicit TableBuilder(llvm::Module &module)
      : module(module), context(module.getContext()), pointer(llvm::PointerType::get(context, 0)) {}

  llvm::Constant *text(llvm::StringRef value) {
    auto [slot, isNew] = texts.try_emplace(value, nullptr);
    if (isNew)
      slot->second = global(llvm::ConstantDataArray::getString(context, value), "pmap.text");
    return slot->second;
  }
  llvm::Constant *textOrNull(llvm::StringRef value) { return value.empty() ? null() : text(value); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  llvm::Constant *integer(int64_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(context), value);
  }

  llvm::Constant *textArray(const std::vector<std::string> &values) {
    llvm::SmallVector<llvm::Constant *> elements;
    for (const std::string &value : values)
      elements.push_back(text(value));
    return array(elements, pointer);
  }

  llvm::Constant *leaves(const std::vector<SignatureLeaf> &list) {
    llvm::SmallVector<llvm::Constant *> elements;
    for (const SignatureLeaf &leaf : list)
      elements.push_back(llvm::ConstantStruct::getAnon(
          {text(leaf.name), integer(static_cast<int>(leaf.dtype)), integer(leaf.sizes.size()), textArray(leaf.sizes),
           leaf.defaultText ? text(*leaf.defaultText) : null(), textOrNull(leaf.doc)}));
    return array(elements, elements.empty() ? pointer : elements.front()->getType());
  }

  llvm::Constant *signature(const ProgramSignature &s) {
    return global(
        llvm::ConstantStruct::getAnon({text(s.name), text(s.declaration), textOrNull(s.doc), integer(s.symbols.size()),
                                       integer(s.parameters.size()), integer(s.results.size()), textArray(s.symbols),
                                       leaves(s.parameters), leaves(s.results)}),
        "pmap.signature");
  }

  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements, llvm::Type *elementType) {
    if (elements.empty())
      return null();
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(elementType, elements.size()), elements), "pmap.table");
  }

  llvm::GlobalVariable *global(llvm::Constant *value, llvm::StringRef name) {
    return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                    value, name);
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::StringMap<llvm::Constant *> texts;
};

/// `int main(int argc, char **argv) { return pmap_program_main(&pmap_programs[0], argc, argv); }`
void addMain(llvm::Module &module, llvm::Constant *program) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *integer = llvm::Type::getInt32Ty(context);
  auto *type = llvm::FunctionType::get(integer, {integer, pointer}, false);
  auto callee = module.getOrInsertFunction("pmap_program_main",
                                           llvm::FunctionType::get(integer, {pointer, integer, pointer}, false));
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "main", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  b.CreateRet(b.CreateCall(callee, {program, function->getArg(0), function->getArg(1)}));
}

} // namespace

std::string addProgramTable(llvm::Module &module, llvm::ArrayRef<ProgramEntry> entries, llvm::StringRef programName) {
  std::vector<ProgramEntry> ordered(entries.begin(), entries.end());
  auto main = llvm::find_if(ordered, [](const ProgramEntry &e) { return e.signature.kind == EntryKind::Main; });
  if (main != ordered.end())
    std::rotate(ordered.begin(), main, main + 1);
  // Everything is reached through the tables: internal names cannot clash with the C library's, nor with our own
  // `main`.
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (llvm::Function *entry = module.getFunction("main"))
    entry->setName("main.entry");
  TableBuilder table(module);
  llvm::SmallVector<llvm::Constant *> programs;
  for (const ProgramEntry &entry : ordered) {
    llvm::Function *packed = module.getFunction(entry.functionName + ".packed");
    if (!packed)
      return "the packed form of '" + entry.functionName + "' is missing";
    programs.push_back(
        llvm::ConstantStruct::getAnon({table.text(programName), packed, table.signature(entry.signature), table.null(),
                                       table.null(), table.integer(entry.signature.isParallel)}));
  }
  if (programs.empty())
    return "";
  auto *type = llvm::ArrayType::get(programs.front()->getType(), programs.size());
  auto *list = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                                        llvm::ConstantArray::get(type, programs), programsSymbol);
  auto *count = table.integer(programs.size());
  new llvm::GlobalVariable(module, count->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, count,
                           programCountSymbol);
  if (ordered.front().signature.kind == EntryKind::Main)
    addMain(module, list);
  return "";
}

} // namespace pmap
