// `pmapc show`: the source, and under each line what is bound there (shapes on a device and of the whole, variance) and
// the collectives and movements that it became.
#include "compiler/Driver/Verbs.h"

#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/SizeNames.h"
#include "compiler/Sema/Sema.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <map>

namespace pmap {
namespace {

using sema::BoundName;

/// The sizes of each function of the module, by function. What is bound in a function that was only checked has none.
using NamesOfFunctions = std::map<mlir::Operation *, SizeNames>;

/// `"a", "b" and the rows of a vmap`; the axis of a vmap that the program does not name has a name with a dot.
std::string showAxes(const std::vector<std::string> &names) {
  std::string text;
  bool rows = false;
  for (const std::string &name : names) {
    if (name.find('.') != std::string::npos)
      rows = true;
    else
      text += (text.empty() ? "\"" : ", \"") + name + "\"";
  }
  return text + (rows ? text.empty() ? "the rows of a vmap" : " and the rows of a vmap" : "");
}

/// `x: f32[n/data, d], a block of f32[n, d]; differs over "data"`
std::string describe(const BoundName &bound, const BoundName::Leaf &leaf, const SizeNames *names) {
  std::string name = bound.name.empty() ? "result" : bound.name;
  std::string text = name + (leaf.name.empty() ? "" : "." + leaf.name) + ": ";
  if (!names)
    return text + leaf.shown;
  std::string local = names->show(leaf.dtype, leaf.sizes);
  std::vector<Size> sizes;
  for (const Size &size : leaf.sizes)
    sizes.push_back(names->whole(size));
  std::string whole = names->show(leaf.dtype, sizes);
  text += local;
  // What the devices share may have the size of a block, but is none.
  if (local != whole && !leaf.vary.empty())
    text += ", a block of " + whole;
  if (leaf.onDevices)
    text += "; stays on the devices";
  else if (!leaf.vary.empty())
    text += "; differs over " + showAxes(leaf.vary);
  else if (!bound.axes.empty())
    text += "; the same on every device";
  return text;
}

/// All that is told of one place: a text per instantiation, and where each was called from.
struct Place {
  std::vector<std::pair<std::string, SourceRange>> texts; // distinct
};

class Listing {
public:
  Listing(const SourceFile &file, const NamesOfFunctions &functions) : file(file), functions(functions) {}

  void add(const BoundName &bound) {
    if (bound.range.file != &file)
      return;
    auto function = functions.find(bound.entry);
    const SizeNames *names = function == functions.end() || bound.axesUnknown ? nullptr : &function->second;
    for (auto [number, leaf] : llvm::enumerate(bound.leaves)) {
      Place &place = places[{bound.range.begin, number}];
      std::string text = describe(bound, leaf, names);
      // What was only checked says less than what was also used.
      if (!names && !place.texts.empty())
        continue;
      if (llvm::none_of(place.texts, [&](const auto &known) { return known.first == text; }))
        place.texts.push_back({text, bound.calls.empty() ? SourceRange() : bound.calls.back().second});
    }
  }

  void add(const Explanation::Fact &fact) {
    if (fact.file != file.path() || !fact.line)
      return;
    facts[fact.line].push_back(fact.kind + ": " + fact.text + (fact.bytes.empty() ? "" : "; " + fact.bytes + " bytes") +
                               (fact.kind == fact::kCollective ? " per device" : ""));
  }

  void print(llvm::raw_ostream &os) const {
    size_t width = std::to_string(file.lineCount()).size();
    for (unsigned line = 1; line <= file.lineCount(); ++line) {
      llvm::StringRef text = file.lineText(line);
      if (line == file.lineCount() && text.empty())
        break;
      os << llvm::right_justify(std::to_string(line), width) << (text.empty() ? " |" : " | ") << text << "\n";
      std::string margin = std::string(width, ' ') + " | " + std::string(text.size() - text.ltrim(' ').size() + 2, ' ');
      for (const std::string &note : notesOf(line))
        os << margin << "# " << note << "\n";
    }
  }

private:
  std::vector<std::string> notesOf(unsigned line) const {
    std::vector<std::string> notes;
    uint32_t begin = file.lineStart(line);
    uint32_t end = line < file.lineCount() ? file.lineStart(line + 1) : static_cast<uint32_t>(file.text().size()) + 1;
    for (auto it = places.lower_bound({begin, 0}); it != places.end() && it->first.first < end; ++it) {
      constexpr size_t kMost = 3;
      const auto &texts = it->second.texts;
      for (size_t i = 0; i < std::min(texts.size(), kMost); ++i) {
        std::string note = texts[i].first;
        if (texts.size() > 1 && texts[i].second.isValid())
          note += " (called from line " + std::to_string(lineOf(texts[i].second)) + ")";
        notes.push_back(note);
      }
      if (texts.size() > kMost)
        notes.push_back("and " + std::to_string(texts.size() - kMost) + " more, called with other types");
    }
    auto stated = facts.find(line);
    if (stated != facts.end())
      for (const std::string &fact : stated->second)
        if (!llvm::is_contained(notes, fact))
          notes.push_back(fact);
    return notes;
  }

  static unsigned lineOf(SourceRange range) { return range.file->lineColumn(range.begin).line; }

  const SourceFile &file;
  const NamesOfFunctions &functions;
  std::map<std::pair<uint32_t, size_t>, Place> places; // by position, and by leaf
  std::map<unsigned, std::vector<std::string>> facts;
};

/// The last that was told of each name in each chain of calls, in the order of the first time: a loop's body is
/// elaborated until its types are settled.
std::vector<BoundName> settled(std::vector<BoundName> told) {
  std::map<std::pair<std::string, uint32_t>, size_t> last;
  std::vector<BoundName> result;
  for (BoundName &bound : told) {
    std::string chain = bound.name;
    for (const auto &call : bound.calls)
      chain += "\n" + call.first + "@" + std::to_string(call.second.begin);
    chain += "\n" + std::to_string(reinterpret_cast<uintptr_t>(bound.entry)) + bound.range.file->path().str();
    auto [it, isNew] = last.insert({std::make_pair(chain, bound.range.begin), result.size()});
    if (isNew)
      result.push_back(std::move(bound));
    else
      result[it->second] = std::move(bound);
  }
  return result;
}

} // namespace

int showFile(const std::string &path, const CompileOptions &options) {
  CompileOptions explaining = options;
  explaining.explain = true;
  Compiler compiler(explaining);
  std::vector<BoundName> told;
  compiler.onBind = [&](BoundName bound) { told.push_back(std::move(bound)); };
  auto ast = compiler.parse(path);
  auto module = ast ? compiler.elaborate(*ast) : nullptr;
  NamesOfFunctions functions;
  if (module)
    for (auto function : module->getOps<mlir::func::FuncOp>())
      functions.emplace(function, SizeNames(function));
  bool good = module && compiler.transform(*module);
  compiler.diagnostics.print(llvm::errs(), llvm::errs().has_colors());
  if (!good)
    return 2;
  Listing listing(*ast->file, functions);
  for (const BoundName &bound : settled(std::move(told)))
    listing.add(bound);
  for (const Explanation::Fact &fact : compiler.explanation.sorted())
    listing.add(fact);
  listing.print(llvm::outs());
  return 0;
}

} // namespace pmap
