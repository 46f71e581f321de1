// Programs that have code for GPUs and for the CPU.

#include "runtime/core/Failure.h"
#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/Device.h"
#include "runtime/io/Problem.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using namespace pmap::rt;

namespace {

enum Target { Auto, Cuda, Cpu };
constexpr const char *targetNames[] = {"auto", "cuda", "cpu"};

/// Why the program does not run on GPUs, and what to do.
Problem noGpu() {
  std::string reason;
  cuda::findGpus(reason);
  return {"E1030",
          "",
          "no GPU to run on: " + reason,
          {"a GPU of NVIDIA's needs its driver, which brings libcuda.so.1 (on Debian: nvidia-driver, libcuda1)",
           "'--target cpu' runs the same program on the CPU"}};
}

/// Takes `--target NAME` or `--target=NAME` out of the arguments. False for a name that is none.
bool takeTarget(std::vector<char *> &arguments, Target &target, std::string &bad) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const char *name = nullptr;
    size_t taken = 0;
    if (!strncmp(arguments[i], "--target=", 9)) {
      name = arguments[i] + 9;
      taken = 1;
    } else if (!strcmp(arguments[i], "--target") && i + 1 < arguments.size()) {
      name = arguments[i + 1];
      taken = 2;
    }
    if (!taken)
      continue;
    bool known = false;
    for (int t = Auto; t <= Cpu; ++t)
      if (!strcmp(name, targetNames[t])) {
        target = (Target)t;
        known = true;
      }
    if (!known) {
      bad = name;
      return false;
    }
    arguments.erase(arguments.begin() + (long)i, arguments.begin() + (long)(i + taken));
    --i;
  }
  return true;
}

bool has(const std::vector<char *> &arguments, const char *flag) {
  for (char *argument : arguments)
    if (!strncmp(argument, flag, strlen(flag)))
      return true;
  return false;
}

} // namespace

int32_t pmap_cuda_probe(char *problem, int64_t size) {
  std::string reason;
  int32_t count = cuda::findGpus(reason);
  if (count == 0)
    snprintf(problem, (size_t)size, "%s", noGpu().render().c_str());
  return count;
}

int32_t pmap_cuda_program_main(const pmap_program *program, pmap_packed entry, int32_t builtFor, int32_t argc,
                               char **argv) {
  std::vector<char *> arguments(argv, argv + argc);
  auto target = (Target)builtFor;
  std::string bad, reason;
  if (!takeTarget(arguments, target, bad)) {
    fputs(Problem{"E1010", "", "unknown target '" + bad + "'; expected auto, cuda or cpu", {}}.render().c_str(),
          stderr);
    return 2;
  }
  bool wantsHelp = has(arguments, "--help");
  int gpus = target == Cpu || wantsHelp ? 0 : cuda::findGpus(reason);
  if (target == Cuda && gpus == 0 && !wantsHelp) {
    fputs(noGpu().render().c_str(), stderr);
    return 2;
  }
  pmap_program chosen = *program;
  std::string devices;
  if (gpus > 0) {
    chosen.entry = entry;
    // All GPUs, unless told otherwise.
    devices = "--devices=" + std::to_string(program->is_parallel ? gpus : 1);
    if (!has(arguments, "--devices"))
      arguments.push_back(devices.data());
  }
  arguments.push_back(nullptr);
  return pmap_program_main(&chosen, (int32_t)arguments.size() - 1, arguments.data());
}
