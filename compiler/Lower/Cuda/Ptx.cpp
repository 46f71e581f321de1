// PTX by LLVM's NVPTX back end, which needs no toolkit.

#include "compiler/Lower/Cuda/Ptx.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <cstdlib>

using namespace llvm;

namespace pmap {

ArrayRef<KernelArch> kernelArchs() {
  static const KernelArch archs[] = {{"sm_80", "+ptx78"}, {"sm_86", "+ptx78"},  {"sm_89", "+ptx78"},
                                     {"sm_90", "+ptx80"}, {"sm_100", "+ptx86"}, {"sm_120", "+ptx87"}};
  return archs;
}

std::string findLibdevice() {
  SmallVector<std::string> folders;
  if (const char *home = std::getenv("CUDA_HOME"))
    folders.push_back(home);
  else
    folders.push_back("/usr/local/cuda");
  for (const std::string &folder : folders) {
    SmallString<128> path(folder);
    sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
    if (sys::fs::exists(path))
      return std::string(path);
  }
  return "";
}

namespace {

const Target *lookupTarget(std::string &error) {
  static bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  return TargetRegistry::lookupTarget(Triple("nvptx64-nvidia-cuda"), error);
}

SmallVector<std::string> missingFunctions(Module &module) {
  SmallVector<std::string> names;
  for (Function &function : module)
    // `__nvvm_reflect` asks for options of the compilation; a pass of the back end answers.
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        function.getName() != "__nvvm_reflect")
      names.push_back(function.getName().str());
  return names;
}

// Links what of libdevice the kernels call. Whatever stays without a body is an error: the driver would only say that
// the module cannot be loaded.
std::string resolveFunctions(Module &module, const DataLayout &layout) {
  if (missingFunctions(module).empty())
    return "";
  std::string path = findLibdevice();
  if (!path.empty()) {
    SMDiagnostic problem;
    std::unique_ptr<Module> library = parseIRFile(path, problem, module.getContext());
    if (!library)
      return "cannot read '" + path + "': " + problem.getMessage().str();
    library->setTargetTriple(module.getTargetTriple());
    library->setDataLayout(layout);
    auto internalize = [](Module &linked, const StringSet<> &names) {
      internalizeModule(linked, [&](const GlobalValue &value) { return !names.contains(value.getName()); });
    };
    if (Linker(module).linkInModule(std::move(library), Linker::Flags::LinkOnlyNeeded, internalize))
      return "cannot link '" + path + "'";
  }
  SmallVector<std::string> missing = missingFunctions(module);
  if (missing.empty())
    return "";
  StringRef name = missing.front();
  if (path.empty() && name.consume_front("__nv_"))
    return "the target 'cuda' needs libdevice for '" + name.str() +
           "': install the CUDA toolkit and set CUDA_HOME, or use f32";
  return "a kernel calls '" + missing.front() + "', which does not exist";
}

void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = false;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
}

std::string emitPtx(Module &kernels, const KernelArch &arch, std::string &ptx) {
  std::string error;
  const Target *target = lookupTarget(error);
  if (!target)
    return "this LLVM has no NVPTX back end: " + error;
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard;
  Triple triple("nvptx64-nvidia-cuda");
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, arch.name, arch.features, options, Reloc::PIC_, std::nullopt, CodeGenOptLevel::Aggressive));
  std::unique_ptr<Module> code = CloneModule(kernels);
  code->setTargetTriple(triple);
  code->setDataLayout(machine->createDataLayout());
  // Subnormal numbers count, in libdevice as everywhere.
  code->addModuleFlag(Module::Override, "nvvm-reflect-ftz", 0u);
  if (std::string message = resolveFunctions(*code, code->getDataLayout()); !message.empty())
    return message;
  optimize(*code, *machine);
  SmallVector<char> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return "the NVPTX back end writes no text";
  passes.run(*code);
  ptx.assign(text.begin(), text.end());
  std::string unknown = unknownPtxInstruction(ptx);
  return unknown.empty() ? "" : "the compiler made an instruction that PtxOpcodes.def does not have: " + unknown;
}

} // namespace

std::string generatePtx(mlir::Operation *kernels, ArrayRef<std::string> archs, std::vector<KernelImage> &images) {
  LLVMContext context;
  std::unique_ptr<Module> code = mlir::translateModuleToLLVMIR(kernels, context, "pmap_kernels");
  if (!code)
    return "the kernels are not in the LLVM dialect";
  for (const std::string &name : archs) {
    const KernelArch *arch = find_if(kernelArchs(), [&](const KernelArch &known) { return name == known.name; });
    if (arch == kernelArchs().end())
      return "unknown architecture '" + name + "'";
    images.push_back({name, "", ""});
    if (std::string message = emitPtx(*code, *arch, images.back().ptx); !message.empty())
      return message;
  }
  return "";
}

} // namespace pmap
