//===- SizeExpression.h - Values of size polynomials -------------------------------------------------------------===//

#ifndef PMAP_IO_SIZEEXPRESSION_H
#define PMAP_IO_SIZEEXPRESSION_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pmap::rt {

using Symbols = std::map<std::string, int64_t, std::less<>>;

/// The value of a size in the text form of signatures: symbols, `+ - * /` with exact division as a whole, parentheses,
/// `floordiv mod min max`. Nothing when a symbol has no value, the division leaves a rest, or 64 bits do not suffice.
std::optional<int64_t> evaluateSize(const std::string &text, const Symbols &symbols);

/// The symbols a size mentions, each once.
std::vector<std::string> symbolsOf(const std::string &text);

/// Whether the size is one symbol and nothing else.
bool isSymbol(const std::string &text);

} // namespace pmap::rt

#endif // PMAP_IO_SIZEEXPRESSION_H
