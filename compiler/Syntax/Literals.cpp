#include "compiler/Syntax/Literals.h"
#include "compiler/Support/DType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Error.h"
#include <cmath>
#include <limits>

namespace pmap {

namespace {

/// Removes `_` between digits; false when one stands elsewhere.
bool removeUnderscores(llvm::StringRef digits, std::string &result) {
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      result += digits[i];
      continue;
    }
    if (i == 0 || i + 1 == digits.size() || !llvm::isHexDigit(digits[i - 1]) || !llvm::isHexDigit(digits[i + 1]))
      return false;
  }
  return true;
}

/// The nearest double; too large a number is infinite.
double parseDouble(llvm::StringRef text) {
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  auto status = value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return 0.0;
  }
  return value.convertToDouble();
}

/// Whether an integer literal fits its suffix. The most negative number counts: its minus is a separate operation.
bool fits(uint64_t value, DType dtype) {
  unsigned bits = dtypeBits(dtype);
  if (isSigned(dtype))
    return value <= uint64_t(1) << (bits - 1);
  return bits == 64 || value < uint64_t(1) << bits;
}

} // namespace

std::unique_ptr<ast::NumberExpr> readNumber(SourceRange range, DiagnosticEngine &diagnostics) {
  auto number = std::make_unique<ast::NumberExpr>(range);
  llvm::StringRef text = range.text();
  number->text = text.str();
  auto fail = [&](const llvm::Twine &message) {
    diagnostics.error(Code::E0104, range, message).report();
    return std::move(number);
  };

  if (text.starts_with("inf") || text.starts_with("nan")) {
    number->isFloat = true;
    number->floatValue =
        text.starts_with("inf") ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    number->suffix = text.drop_front(3).str();
    return number;
  }

  bool hex = text.starts_with("0x") || text.starts_with("0X");
  llvm::StringRef rest = hex ? text.drop_front(2) : text;
  llvm::StringRef body =
      rest.take_while([&](char c) { return hex ? llvm::isHexDigit(c) || c == '_' : llvm::isDigit(c) || c == '_'; });
  rest = rest.drop_front(body.size());
  if (!hex) {
    // The lexer has made sure that a digit follows the point.
    if (rest.starts_with(".")) {
      number->isFloat = true;
      size_t digits = rest.drop_front().take_while([](char c) { return llvm::isDigit(c) || c == '_'; }).size();
      body = {body.data(), body.size() + 1 + digits};
      rest = rest.drop_front(1 + digits);
    }
    if (rest.starts_with("e") || rest.starts_with("E")) {
      llvm::StringRef exponent = rest.drop_front();
      if (exponent.starts_with("+") || exponent.starts_with("-"))
        exponent = exponent.drop_front();
      size_t digits = exponent.take_while([](char c) { return llvm::isDigit(c) || c == '_'; }).size();
      if (digits != 0 && exponent[0] != '_') {
        number->isFloat = true;
        size_t length = static_cast<size_t>(exponent.data() - rest.data()) + digits;
        body = {body.data(), body.size() + length};
        rest = rest.drop_front(length);
      }
    }
  }

  std::string digits;
  if (body.empty() || !removeUnderscores(body, digits))
    return fail(body.empty() ? "expected hexadecimal digits after '" + text.take_front(2) + "', got '" + text + "'"
                             : "'_' stands between two digits only, got '" + text + "'");
  std::optional<DType> dtype;
  if (!rest.empty()) {
    dtype = parseDType(rest);
    if (!dtype || !isNumeric(*dtype)) {
      if (text.starts_with("0b") || text.starts_with("0o") || text.starts_with("0B") || text.starts_with("0O"))
        return fail("expected a decimal or hexadecimal number, got '" + text + "'");
      return fail("expected a dtype such as 'f32' or 'i64' behind the number, got '" + rest + "'");
    }
    number->suffix = rest.str();
    if (number->isFloat && !isFloat(*dtype))
      return fail("a number with a fraction or an exponent cannot be of dtype " + rest);
  }
  if (number->isFloat) {
    number->floatValue = parseDouble(digits);
    if (std::isinf(number->floatValue))
      return fail("'" + text + "' is too large for f64; infinity is written 'inf'");
    return number;
  }
  if (llvm::StringRef(digits).getAsInteger(hex ? 16 : 10, number->intValue))
    return fail("'" + text + "' does not fit into 64 bits");
  number->floatValue = static_cast<double>(number->intValue);
  if (dtype && isFloat(*dtype))
    number->isFloat = true;
  else if (dtype && !fits(number->intValue, *dtype))
    return fail("'" + text + "' does not fit into " + number->suffix);
  return number;
}

std::string readString(SourceRange range, DiagnosticEngine &diagnostics) {
  llvm::StringRef text = range.text();
  // What the token filter has complained about may lack its closing quote.
  char quote = text.front();
  llvm::StringRef body = text.drop_front();
  if (body.ends_with(llvm::StringRef(&quote, 1)))
    body = body.drop_back();
  std::string result;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || quote == '\'') {
      result += body[i];
      continue;
    }
    size_t start = i++;
    char c = i < body.size() ? body[i] : '\\';
    switch (c) {
    case 'n':
      result += '\n';
      continue;
    case 't':
      result += '\t';
      continue;
    case 'r':
      result += '\r';
      continue;
    case '0':
      result += '\0';
      continue;
    case '"':
    case '\\':
      result += c;
      continue;
    case 'u': {
      llvm::StringRef digits = body.drop_front(i + 1);
      unsigned point = 0;
      size_t close = digits.find('}');
      char buffer[4], *end = buffer;
      if (digits.consume_front("{") && close != llvm::StringRef::npos && close > 1 &&
          !digits.take_front(close - 1).getAsInteger(16, point) && llvm::ConvertCodePointToUTF8(point, end)) {
        result.append(buffer, end);
        i += close + 1;
        continue;
      }
      break;
    }
    default:
      break;
    }
    auto at = static_cast<uint32_t>(range.begin + 1 + start);
    // The whole character after the backslash, should it take several bytes.
    uint32_t length = 1 + llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(c));
    SourceRange escape(range.file, at, std::min(at + length, range.end));
    diagnostics
        .error(Code::E0105, escape,
               "expected one of the escapes \\n \\t \\r \\0 \\\" \\\\ \\u{...}, got '" + escape.text() + "'")
        .report();
    i += length - 2;
  }
  return result;
}

std::string quoteString(llvm::StringRef value) {
  std::string result = "\"";
  for (char c : value) {
    switch (c) {
    case '\n':
      result += "\\n";
      break;
    case '\t':
      result += "\\t";
      break;
    case '\r':
      result += "\\r";
      break;
    case '\0':
      result += "\\0";
      break;
    case '"':
      result += "\\\"";
      break;
    case '\\':
      result += "\\\\";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
        result += "\\u{" + llvm::utohexstr(static_cast<unsigned char>(c), /*LowerCase=*/true) + "}";
      else
        result += c;
    }
  }
  return result + "\"";
}

} // namespace pmap
