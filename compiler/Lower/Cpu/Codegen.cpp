// From a module in the LLVM dialect to optimised LLVM IR, assembly or an object file.

#include "compiler/Lower/Cpu/Codegen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/MergeFunctions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

using namespace llvm;

namespace pmap {

namespace {

const Target *lookupHostTarget(std::string &error) {
  static bool initialized = !InitializeNativeTarget() && !InitializeNativeTargetAsmPrinter();
  if (!initialized) {
    error = "no code generator for this machine";
    return nullptr;
  }
  return TargetRegistry::lookupTarget(Triple(sys::getProcessTriple()), error);
}

std::unique_ptr<TargetMachine> createMachine(const CpuTarget &target, std::string &error) {
  const Target *host = lookupHostTarget(error);
  if (!host)
    return nullptr;
  TargetOptions options;
  // a * b + c may become one fused operation: the pipeline marks what may, so the back end must not do more by itself.
  options.AllowFPOpFusion = FPOpFusion::Standard;
  return std::unique_ptr<TargetMachine>(host->createTargetMachine(Triple(sys::getProcessTriple()), target.cpu,
                                                                  target.features, options, Reloc::PIC_, std::nullopt,
                                                                  CodeGenOptLevel::Default));
}

// Kernels arrive as explicit vector loops and every call is elaborated in place, so what is left to do is the cleaning
// up of expanded code, small loops of known length, and vectors for the scalar loops of comprehensions. The default
// pipeline finds nothing more: the passes below take a quarter of its time, and the code generator, spared the copies
// of loops that unrolling makes, two thirds.
void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);

  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  LoopPassManager hoisting;
  hoisting.addPass(LoopRotatePass());
  hoisting.addPass(LICMPass(LICMOptions()));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(hoisting), /*UseMemorySSA=*/true));
  passes.addPass(GVNPass());
  LoopPassManager shaping;
  shaping.addPass(LoopIdiomRecognizePass());
  shaping.addPass(IndVarSimplifyPass());
  shaping.addPass(LoopFullUnrollPass());
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(shaping)));
  passes.addPass(LoopVectorizePass());
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  LoopPassManager last;
  last.addPass(LICMPass(LICMOptions()));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(last), /*UseMemorySSA=*/true));

  // The kernels of a record's leaves are often alike (an optimizer's step is): one is enough.
  for (Function &function : module)
    if (function.hasLocalLinkage())
      function.setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  ModulePassManager pipeline;
  pipeline.addPass(GlobalDCEPass());
  pipeline.addPass(MergeFunctionsPass());
  pipeline.addPass(createModuleToFunctionPassAdaptor(std::move(passes)));
  pipeline.run(module, modules);
}

} // namespace

bool resolveCpuTarget(StringRef name, CpuTarget &target, std::string &error) {
  const Target *host = lookupHostTarget(error);
  if (!host)
    return false;
  if (name.empty() || name == "native") {
    target.cpu = sys::getHostCPUName().str();
    SubtargetFeatures features;
    StringMap<bool> known = sys::getHostCPUFeatures();
    std::vector<StringRef> names;
    for (const auto &feature : known)
      names.push_back(feature.getKey());
    // Sorted, because the text is part of what a cached object is found by.
    llvm::sort(names);
    for (StringRef feature : names)
      features.AddFeature(feature, known[feature]);
    target.features = features.getString();
  } else {
    target.cpu = name.str();
    target.features.clear();
  }
  Triple triple(sys::getProcessTriple());
  // Asked of the generic CPU first, because LLVM itself prints a line about a name that it does not know.
  std::unique_ptr<MCSubtargetInfo> generic(host->createMCSubtargetInfo(triple, "", ""));
  if (!generic || !generic->isCPUStringValid(target.cpu)) {
    error = "unknown CPU '" + name.str() + "'";
    return false;
  }
  std::unique_ptr<MCSubtargetInfo> info(host->createMCSubtargetInfo(triple, target.cpu, target.features));
  bool isX86 = triple.isX86();
  if (isX86 && triple.isArch64Bit() && !info->checkFeatures("+64bit")) {
    error = "the CPU '" + name.str() + "' runs no 64-bit code";
    return false;
  }
  target.vectorBits = 128;
  if (isX86 && info->checkFeatures("+avx512f,+avx512vl,+avx512bw,+avx512dq"))
    target.vectorBits = 512;
  else if (isX86 && info->checkFeatures("+avx2,+fma"))
    target.vectorBits = 256;
  return true;
}

std::string generateCode(mlir::ModuleOp module, const CpuTarget &target, CodegenOutput output,
                         SmallVectorImpl<char> &result, function_ref<std::string(Module &)> extend) {
  std::string error;
  std::unique_ptr<TargetMachine> machine = createMachine(target, error);
  if (!machine)
    return error;
  LLVMContext context;
  std::unique_ptr<Module> code = mlir::translateModuleToLLVMIR(module, context, "pmap");
  if (!code)
    return "the module is not in the LLVM dialect";
  code->setDataLayout(machine->createDataLayout());
  code->setTargetTriple(Triple(sys::getProcessTriple()));
  if (extend)
    if (std::string message = extend(*code); !message.empty())
      return message;
  // The CPU is written on each function, so that optimised text, assembled elsewhere, gives the same code.
  for (Function &function : *code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
  }
  optimize(*code, *machine);
  raw_svector_ostream stream(result);
  if (output == CodegenOutput::LlvmText) {
    code->print(stream, nullptr);
    return "";
  }
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   output == CodegenOutput::Object ? CodeGenFileType::ObjectFile
                                                                   : CodeGenFileType::AssemblyFile))
    return "this machine's code generator writes no such file";
  passes.run(*code);
  return "";
}

} // namespace pmap
