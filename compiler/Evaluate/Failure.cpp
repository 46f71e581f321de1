// How a failure reads: in the runtime's own words, so that both targets fail alike.
#include "compiler/Evaluate/Evaluate.h"

#include "runtime/core/FailureMessage.h"

namespace pmap::evaluate {

static rt::FailureMessage wordsOf(const Failure &failure) {
  return rt::failureMessage(failure.kind, failure.text, failure.a, failure.b, failure.c);
}

std::string messageOf(const Failure &failure) { return failure.kind < 0 ? failure.text : wordsOf(failure).message; }

std::string codeOf(const Failure &failure) { return failure.kind < 0 ? failure.code : wordsOf(failure).code; }

std::string noteOf(const Failure &failure) {
  std::string told = failure.kind < 0 ? "" : wordsOf(failure).note;
  return told.empty() ? failure.note : told;
}

} // namespace pmap::evaluate
