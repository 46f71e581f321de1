#include "compiler/Driver/Jit.h"
#include "compiler/Driver/Link.h"
#include "compiler/Driver/ProgramTable.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/TargetSelect.h"

namespace pmap {

LoadedProgram::LoadedProgram() = default;
LoadedProgram::~LoadedProgram() = default;

std::unique_ptr<LoadedProgram> LoadedProgram::load(std::unique_ptr<llvm::MemoryBuffer> object, std::string &error) {
  llvm::InitializeNativeTarget();
  if (needsSymbol(object->getBuffer(), "pmap_rt_gemm")) {
    std::string library = runtimeLibraryFolder() + "/libpmaprt_blas.so";
    if (llvm::sys::DynamicLibrary::LoadLibraryPermanently(library.c_str(), &error))
      return nullptr;
  }
  // The vector variants of math functions are a library of their own, which no one else in this process needs.
  if (needsSymbol(object->getBuffer(), "_ZGV") &&
      llvm::sys::DynamicLibrary::LoadLibraryPermanently("libmvec.so.1", &error))
    return nullptr;
  bool definesPrograms = definesSymbol(object->getBuffer(), programsSymbol);
  auto take = [&](llvm::Error failure) { error = llvm::toString(std::move(failure)); };
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) {
    take(jit.takeError());
    return nullptr;
  }
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process) {
    take(process.takeError());
    return nullptr;
  }
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (auto failure = (*jit)->addObjectFile(std::move(object))) {
    take(std::move(failure));
    return nullptr;
  }
  std::unique_ptr<LoadedProgram> program(new LoadedProgram());
  program->jit = std::move(*jit);
  // Linking happens at the first lookup. What it has to say belongs into `error`, not on the terminal.
  if (definesPrograms) {
    std::string reasons;
    program->jit->getExecutionSession().setErrorReporter(
        [&](llvm::Error reason) { reasons += llvm::toString(std::move(reason)); });
    bool linked = program->lookup(programsSymbol) != nullptr;
    program->jit->getExecutionSession().setErrorReporter(
        [](llvm::Error reason) { llvm::consumeError(std::move(reason)); });
    if (!linked) {
      error = reasons.empty() ? "its code cannot be linked" : reasons;
      return nullptr;
    }
  }
  return program;
}

void *LoadedProgram::lookup(llvm::StringRef name) {
  auto address = jit->lookup(name);
  if (!address) {
    llvm::consumeError(address.takeError());
    return nullptr;
  }
  return address->toPtr<void *>();
}

} // namespace pmap
