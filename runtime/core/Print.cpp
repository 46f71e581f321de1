// `print(...)` of programs.

#include "runtime/core/Context.h"
#include "runtime/host/Dist.h"
#include "runtime/host/Map.h"
#include "runtime/io/Format.h"

#include <cstdio>

using namespace pmap::rt;

void pmap_rt_print(const pmap_site *site, const char *text, int32_t count, const int32_t *dtypes, const int32_t *ranks,
                   const void *const *values) {
  std::string line;
  Thread &thread = thisThread();
  if (thread.run && thread.run->size > 1)
    line = format("[device %d] ", thread.rank);
  int32_t next = 0;
  for (const char *at = text; *at; ++at) {
    if ((*at == '{' || *at == '}') && at[1] == *at) {
      line += *at++;
      continue;
    }
    if (*at != '{' || at[1] != '}' || next >= count) {
      line += *at;
      continue;
    }
    ++at;
    bool fresh;
    Block block = readPacked(values[next], dtypes[next], (size_t)ranks[next], fresh);
    line += formatArray(dtypes[next], block.sizes, block.data);
    if (fresh)
      pmap_rt_free(block.owner);
    ++next;
  }
  line += '\n';
  // One call, so that lines of several devices do not mix.
  fwrite(line.data(), 1, line.size(), stdout);
  fflush(stdout);
}
