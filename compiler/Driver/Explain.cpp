#include "compiler/Driver/Explain.h"
#include "compiler/Dialect/IR/Facts.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <tuple>

namespace pmap {
namespace {

using RemarkBase = mlir::remark::detail::Remark;

/// Hands each remark of the context to an explanation.
class Collector : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(Explanation &explanation) : explanation(explanation) {}

  void streamOptimizationRemark(const RemarkBase &remark) override {
    Explanation::Fact fact;
    if (auto place = remark.getLocation()->findInstanceOf<mlir::FileLineColLoc>()) {
      fact.file = place.getFilename().str();
      fact.line = place.getLine();
      fact.column = place.getColumn();
    }
    fact.kind = remark.getRemarkName().str();
    for (const RemarkBase::Arg &part : remark.getArgs())
      (part.key == "bytes" ? fact.bytes : fact.text) += part.val;
    explanation.add(std::move(fact));
  }

private:
  Explanation &explanation;
};

/// "4*d+4 bytes per device"
std::string bytesText(const Explanation::Fact &fact) {
  if (fact.bytes.empty())
    return "";
  return fact.bytes + (fact.bytes == "1" ? " byte" : " bytes") + (fact.kind == fact::kCollective ? " per device" : "");
}

} // namespace

void Explanation::collectFrom(mlir::MLIRContext &context) {
  mlir::remark::RemarkCategories categories;
  categories.analysis = "pmap";
  (void)mlir::remark::enableOptimizationRemarks(context, std::make_unique<Collector>(*this),
                                                std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), categories);
}

void Explanation::add(Fact fact) { facts.push_back(std::move(fact)); }

void Explanation::sort() {
  auto key = [](const Fact &fact) {
    return std::tie(fact.file, fact.line, fact.kind, fact.column, fact.text, fact.bytes);
  };
  std::sort(facts.begin(), facts.end(), [&](const Fact &a, const Fact &b) { return key(a) < key(b); });
  // A function that is used in several places makes the same code in each.
  auto last = std::unique(facts.begin(), facts.end(), [&](const Fact &a, const Fact &b) { return key(a) == key(b); });
  facts.erase(last, facts.end());
}

void Explanation::print(llvm::raw_ostream &os) {
  sort();
  std::string file;
  bool first = true;
  for (const Fact &fact : facts) {
    if (first || fact.file != file)
      os << (fact.file.empty() ? "code of no line" : fact.file) << ":\n";
    first = false;
    file = fact.file;
    os << "  ";
    if (fact.line)
      os << llvm::right_justify(std::to_string(fact.line), 4) << "  ";
    os << llvm::left_justify(fact.kind, 10) << "  " << fact.text;
    if (std::string bytes = bytesText(fact); !bytes.empty())
      os << "; " << bytes;
    os << "\n";
  }
  if (first)
    os << "there is nothing to explain: no kernel, copy, movement or collective was made\n";
}

void Explanation::printJson(llvm::raw_ostream &os) {
  sort();
  llvm::json::Array list;
  for (const Fact &fact : facts)
    list.push_back(llvm::json::Object{{"file", fact.file},
                                      {"line", fact.line},
                                      {"column", fact.column},
                                      {"kind", fact.kind},
                                      {"text", fact.text},
                                      {"bytes", fact.bytes}});
  os << llvm::json::Value(std::move(list)) << "\n";
}

} // namespace pmap
