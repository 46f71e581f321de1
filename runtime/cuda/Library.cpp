// Opening NVIDIA's libraries. They stay open until the process ends: unloading a driver is not safe.

#include "runtime/cuda/Library.h"

#include <cstdlib>
#include <dlfcn.h>

namespace pmap::rt::cuda {

Library::Library(const char *variable, const char *const *names) {
  if (const char *given = getenv(variable); given && *given) {
    name = given;
    handle = dlopen(given, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      reason = std::string("cannot open '") + given + "', which " + variable + " names: " + dlerror();
    return;
  }
  std::string tried;
  for (; *names && !handle; ++names) {
    name = *names;
    handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *said = dlerror();
      tried += (tried.empty() ? "" : "; ") + std::string(said ? said : *names);
    }
  }
  if (!handle)
    reason = "cannot open " + name + ": " + tried;
}

void *Library::find(const char *symbol) {
  if (!handle)
    return nullptr;
  void *address = dlsym(handle, symbol);
  if (!address && reason.empty())
    reason = name + " has no function '" + symbol + "': it is too old";
  return address;
}

} // namespace pmap::rt::cuda
