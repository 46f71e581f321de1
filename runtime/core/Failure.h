//===- Failure.h - Run-time errors: record, render, unwind ------------------------------------------------------===//
//
// Generated code owns nothing that needs a destructor, so a failure is a longjmp to the nearest launch: of the program,
// of a device body in a map, or of a piece of a parallel loop (which hands the error on to the loop's caller).
// Functions of the runtime that may fail keep nothing alive across `fail` that would have to be destroyed.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_CORE_FAILURE_H
#define PMAP_CORE_FAILURE_H

#include "pmap/runtime.h"

#include <csetjmp>
#include <string>

namespace pmap::rt {

/// An error as the user will read it.
struct ErrorRecord {
  bool set = false;
  /// The device stopped only because another failed; such a record is never reported.
  bool secondary = false;
  /// The sizes of inputs, or the number of devices, do not fit: no fault of the program.
  bool ofInput = false;
  /// Compiled code failed on values that other devices need not share: which device it was is worth saying.
  bool ofValues = false;
  std::string text;

  void clear() {
    set = secondary = ofInput = ofValues = false;
    text.clear();
  }
};

/// A place that failures unwind to and the record they fill. Use:
///   UnwindTarget target(record);
///   if (!setjmp(target.buffer)) { ... may fail ... }
/// The former target is current again after `leave` or a failure.
struct UnwindTarget {
  explicit UnwindTarget(ErrorRecord &record);
  void leave();

  jmp_buf buffer;
  ErrorRecord &record;
  UnwindTarget *outer;
};

/// `file:line:column: error: message [code]`, the source line with a caret when the file can be read, and `note` lines.
std::string renderError(const pmap_site *site, const char *code, const std::string &message,
                        const std::string &note = {});

/// Records the error and unwinds. The strings are consumed.
PMAP_NORETURN void fail(const pmap_site *site, const char *code, std::string &&message, std::string &&note = {});

/// The same for sizes or a number of devices that do not fit.
PMAP_NORETURN void failOfInput(const pmap_site *site, const char *code, std::string &&message, std::string &&note);

/// Unwinds with a record that is already filled (moved from another thread's).
PMAP_NORETURN void failAgain(ErrorRecord &record);

/// Unwinds a device that stops because another one failed.
PMAP_NORETURN void stopQuietly();

/// `7.3 TiB`, `512 B`.
std::string bytesText(int64_t bytes);

/// printf into a string.
std::string format(const char *text, ...) __attribute__((format(printf, 1, 2)));

} // namespace pmap::rt

#endif // PMAP_CORE_FAILURE_H
