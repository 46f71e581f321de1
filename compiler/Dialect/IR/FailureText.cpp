#include "compiler/Dialect/IR/FailureText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pmap;

namespace {

// Begins the name of a location that holds a text; a name of the program cannot.
constexpr llvm::StringLiteral kTold = "told: ";

bool isNameByte(char c) { return llvm::isAlnum(c) || c == '_' || (static_cast<unsigned char>(c) & 0x80); }

// The terms of a sum with their signs, of which a positive one comes first where there is one.
std::string positiveFirst(StringRef sum) {
  SmallVector<std::string> terms;
  int depth = 0;
  bool separates = true;
  for (char c : sum) {
    if (depth == 0 && (c == '+' || c == '-') && (separates || terms.empty() || !terms.back().empty()))
      terms.push_back(c == '-' ? "-" : "");
    else if (terms.empty())
      terms.push_back(std::string(1, c));
    else
      terms.back() += c;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    separates = false;
  }
  auto *first = llvm::find_if(terms, [](const std::string &term) { return !StringRef(term).starts_with("-"); });
  if (first != terms.end())
    std::rotate(terms.begin(), first, first + 1);
  std::string text;
  for (StringRef term : terms) {
    bool negative = term.consume_front("-");
    text += text.empty() ? (negative ? "-" : "") : negative ? " - " : " + ";
    text += term;
  }
  return text;
}

} // namespace

Location pmap::toldAs(Location location, StringRef code, const Twine &text) {
  return NameLoc::get(StringAttr::get(location.getContext(), kTold + code + " " + text), location);
}

StringRef pmap::failureText(Location location) {
  StringRef found;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part); named && named.getName().getValue().starts_with(kTold))
      found = named.getName().getValue().drop_front(kTold.size());
    return found.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

std::string pmap::readableSize(StringRef polynomial) {
  std::string text;
  while (!polynomial.empty()) {
    bool isAxis = polynomial.consume_front("@");
    StringRef name = polynomial.take_while(isNameByte);
    polynomial = polynomial.drop_front(name.size());
    if (name.empty() && !isAxis) {
      text += polynomial.front();
      polynomial = polynomial.drop_front();
      continue;
    }
    // `n.1` is the second `n` of the program; the dot is no part of its name.
    StringRef number = polynomial.starts_with(".") ? polynomial.drop_front().take_while(llvm::isDigit) : StringRef();
    if (!number.empty() && !name.empty() && !llvm::isDigit(name.front()))
      polynomial = polynomial.drop_front(number.size() + 1);
    if (isAxis && name == "devices")
      text += "num_devices()";
    else if (isAxis)
      text += ("axis_size(\"" + name + "\")").str();
    else
      text += name;
  }
  return positiveFirst(text);
}
