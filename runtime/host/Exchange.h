//===- Exchange.h - What the collectives share -------------------------------------------------------------------===//

#ifndef PMAP_HOST_EXCHANGE_H
#define PMAP_HOST_EXCHANGE_H

#include "runtime/host/Map.h"

namespace pmap::rt {

/// The map that this thread's device runs in; a collective anywhere else is a fault of the compiler.
MapRun &requireRun(const pmap_site *site, const char *name);

/// Whether a device that writes so many bytes stores them past the caches.
bool streams(int64_t bytes);

/// Copies, over the device's threads.
void copyBytes(char *to, const char *from, int64_t bytes, bool stream);

/// One device's part in a collective in which the devices read each other's arrays. A small array travels through its
/// owner's staging place, so that one meeting is enough; a large one is read where it lies, and must stay until all
/// have read it.
struct Exchange {
  MapRun &run;
  Group &group;
  int32_t place;
  const void *in[1];
  int32_t parity = 0;
  bool staged = false;

  int64_t devices() const { return (int64_t)group.size(); }
  /// Shows this device's array of `bytes` bytes and waits for the others'. `key` is what all must agree on.
  void open(const pmap_site *site, const char *name, int64_t bytes, const int64_t (&key)[4]);
  /// The array of the device at `place`, once open.
  const char *from(int64_t place) const {
    const Member &member = group.members[place];
    return staged ? member.staging[parity] : (const char *)member.shown[parity].in[0];
  }
  /// Waits until nobody reads this device's array any more.
  void close() {
    if (!staged)
      run.part(group, place);
  }
};

} // namespace pmap::rt

#endif // PMAP_HOST_EXCHANGE_H
