// The end of an interrupted computation is that of a failed one, with another message.

#include "runtime/core/Interrupt.h"
#include "runtime/core/Context.h"
#include "runtime/core/Failure.h"

using namespace pmap::rt;

void pmap::rt::unwindInterrupted() {
  if (!thisThread().target)
    return;
  ErrorRecord record;
  record.set = true;
  record.text = "interrupted\n";
  failAgain(record);
}
