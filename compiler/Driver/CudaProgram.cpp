#include "compiler/Driver/CudaProgram.h"

#include "compiler/Lower/Cuda/Passes.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

namespace pmap {
namespace {

/// The kernels' code as constants: `pmap_cuda_image` of pmap/cuda.h, in the place of the symbol that host code refers
/// to.
void embedKernels(llvm::Module &module, const CudaProgram &program) {
  llvm::LLVMContext &context = module.getContext();
  auto *i32 = llvm::Type::getInt32Ty(context);
  auto *i64 = llvm::Type::getInt64Ty(context);
  auto bytes = [&](llvm::StringRef data, llvm::StringRef name) -> llvm::Constant * {
    auto *value = llvm::ConstantDataArray::getString(context, data, /*AddNull=*/true);
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, value, name);
    global->setAlignment(llvm::Align(16));
    return global;
  };
  llvm::SmallVector<llvm::Constant *> codes;
  auto add = [&](const KernelImage &image, llvm::StringRef data, bool isPtx) {
    int capability = 0;
    llvm::StringRef(image.arch).drop_front(3).getAsInteger(10, capability);
    codes.push_back(
        llvm::ConstantStruct::getAnon({llvm::ConstantInt::get(i32, capability), llvm::ConstantInt::get(i32, isPtx),
                                       bytes(data, isPtx ? "pmap.ptx." + image.arch : "pmap.cubin." + image.arch),
                                       llvm::ConstantInt::get(i64, data.size())}));
  };
  for (const KernelImage &image : program.images) {
    add(image, image.ptx, /*isPtx=*/true);
    if (!image.cubin.empty())
      add(image, image.cubin, /*isPtx=*/false);
  }
  auto *type = llvm::ArrayType::get(codes.front()->getType(), codes.size());
  auto *list = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::ConstantArray::get(type, codes), "pmap.cuda.codes");
  auto *image = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(i32, codes.size()), llvm::ConstantInt::get(i32, program.kernelCount), list});
  auto *defined = new llvm::GlobalVariable(module, image->getType(), /*isConstant=*/true,
                                           llvm::GlobalValue::InternalLinkage, image, "pmap.cuda.image");
  if (llvm::GlobalVariable *declared = module.getGlobalVariable(kernelImageSymbol)) {
    declared->replaceAllUsesWith(defined);
    declared->eraseFromParent();
  }
}

/// `int main(int argc, char **argv) { return pmap_cuda_program_main(&pmap_programs[0], entry, choice, argc, argv); }`
void replaceMain(llvm::Module &module, llvm::Constant *entry, GpuChoice choice) {
  llvm::Function *main = module.getFunction("main");
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *i32 = llvm::Type::getInt32Ty(context);
  auto callee = module.getOrInsertFunction("pmap_cuda_program_main",
                                           llvm::FunctionType::get(i32, {pointer, pointer, i32, i32, pointer}, false));
  main->deleteBody();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", main));
  b.CreateRet(b.CreateCall(callee, {module.getGlobalVariable(programsSymbol), entry,
                                    llvm::ConstantInt::get(i32, choice == GpuChoice::Auto ? 0 : 1), main->getArg(0),
                                    main->getArg(1)}));
}

} // namespace

std::string addCudaProgram(llvm::Module &module, CudaProgram &program, llvm::ArrayRef<ProgramEntry> entries,
                           GpuChoice choice) {
  std::unique_ptr<llvm::Module> host = mlir::translateModuleToLLVMIR(*program.host, module.getContext(), "pmap_cuda");
  if (!host)
    return "the host code is not in the LLVM dialect";
  host->setDataLayout(module.getDataLayout());
  host->setTargetTriple(module.getTargetTriple());
  embedKernels(*host, program);
  auto entry = llvm::find_if(entries, [](const ProgramEntry &e) { return e.signature.kind == EntryKind::Main; });
  bool hasMain = entry != entries.end();
  // Both halves have functions of the same names; each keeps its own.
  for (llvm::Function &function : *host)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (hasMain) {
    llvm::Function *packed = host->getFunction(entry->functionName + ".packed");
    if (!packed)
      return "the packed form of '" + entry->functionName + "' for GPUs is missing";
    new llvm::GlobalVariable(*host, packed->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, packed,
                             cudaEntrySymbol);
  }
  if (llvm::Linker::linkModules(module, std::move(host)))
    return "the two halves of the program do not link";
  if (hasMain)
    replaceMain(module, module.getGlobalVariable(cudaEntrySymbol)->getInitializer(), choice);
  return "";
}

} // namespace pmap
