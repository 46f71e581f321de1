// Reads the embedded files of docs/builtins, and lays out their entries.

#include "compiler/Support/BuiltinPages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace pmap;
using llvm::SmallVector;
using llvm::StringRef;

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> files[] = {
#include "compiler/Support/BuiltinPages.inc"
};

namespace {

/// Takes the lines of facts out of a text, and returns what is left without empty lines around it.
std::string withoutFacts(StringRef text, BuiltinFacts &facts) {
  std::string rest;
  bool isCode = false;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    isCode ^= line.starts_with("```");
    const auto *fact = llvm::find_if(factNames, [&](StringRef name) {
      return !isCode && line.starts_with(name) && line.drop_front(name.size()).starts_with(": ");
    });
    if (fact != factNames.end())
      facts[fact - factNames.begin()] = line.drop_front(fact->size() + 2).trim().str();
    else if (!rest.empty() || !line.trim().empty())
      rest += (line + "\n").str();
  }
  return StringRef(rest).rtrim().str();
}

BuiltinGroup readGroup(StringRef file) {
  BuiltinGroup group;
  auto [head, entries] = file.split("\n## ");
  auto [title, text] = head.split('\n');
  group.title = title.drop_front(StringRef("# ").size()).str();
  group.text = withoutFacts(text, group.facts);
  while (!entries.empty()) {
    auto [entry, others] = entries.split("\n## ");
    auto [signature, body] = entry.split('\n');
    BuiltinEntry &added = group.entries.emplace_back();
    added.signature = signature.trim().str();
    added.name = signature.take_until([](char c) { return c == '('; }).str();
    added.text = withoutFacts(body, added.facts);
    entries = others;
  }
  return group;
}

/// The facts as a list, one a line; nothing where none is known.
std::string listed(const BuiltinFacts &facts) {
  std::string list;
  for (auto [name, fact] : llvm::zip_equal(factNames, facts))
    if (!fact.empty())
      list += ("- " + name + ": " + fact + "\n").str();
  return list;
}

/// Whether all there is to say of an entry is its signature and a line.
bool isOneLine(const BuiltinEntry &entry) {
  return !StringRef(entry.text).contains('\n') &&
         llvm::all_of(entry.facts, [](StringRef fact) { return fact.empty(); });
}

/// An entry under a heading of its own, with what it says beside its group.
std::string section(const BuiltinEntry &entry) {
  auto [said, example] = StringRef(entry.text).split("\n```");
  std::string text = "### " + entry.name + "\n\n`" + entry.signature + "`\n\n" + said.rtrim().str() + "\n";
  if (std::string facts = listed(entry.facts); !facts.empty())
    text += "\n" + facts;
  return example.empty() ? text : text + "\n```" + example.str() + "\n";
}

/// `Reductions` as GitHub links to it.
std::string anchor(StringRef title) {
  std::string text;
  for (char c : title)
    if (llvm::isAlnum(c))
      text += llvm::toLower(c);
    else if (c == ' ')
      text += '-';
  return text;
}

} // namespace

StringRef BuiltinEntry::fact(size_t i) const { return facts[i].empty() ? group->facts[i] : facts[i]; }

std::string BuiltinEntry::page() const {
  BuiltinFacts all;
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = fact(i).str();
  // The example comes last, behind the facts.
  auto [said, example] = StringRef(text).split("\n```");
  std::string result = "# " + name + "\n\n    " + signature + "\n\n" + said.rtrim().str() + "\n\n" + listed(all);
  return example.empty() ? result : result + "\n```" + example.str() + "\n";
}

llvm::ArrayRef<BuiltinGroup> pmap::builtinGroups() {
  static const std::vector<BuiltinGroup> groups = [] {
    std::vector<BuiltinGroup> all;
    for (const auto &file : files)
      all.push_back(readGroup(file.second));
    for (BuiltinGroup &group : all)
      for (BuiltinEntry &entry : group.entries)
        entry.group = &group;
    return all;
  }();
  return groups;
}

const BuiltinEntry *pmap::builtinEntry(StringRef name) {
  for (const BuiltinGroup &group : builtinGroups())
    for (const BuiltinEntry &entry : group.entries)
      if (entry.name == name)
        return &entry;
  return nullptr;
}

std::string pmap::builtinsPage() {
  std::string page =
      "# Builtins\n\n"
      "What is known without an import: its parameters, shapes, dtypes, variance (V) and derivative. `pmapc doc NAME` "
      "prints one entry.\nThe page is made from [builtins/](builtins/) by `./dev docs`; every program on it is "
      "run by the tests, on two devices: `pmapc test F --devices 2`.\n\n"
      "In a signature `axis: all` is an argument that is given by name, with its default, and `k = 0` one that may "
      "be given by place,\n`split:` must be given by name, and `*xs` stands for any number of arguments. Rules such as "
      "V2 and G3 are those of\n[semantics.md](semantics.md).\n\n";
  for (const BuiltinGroup &group : builtinGroups()) {
    std::string names;
    for (const BuiltinEntry &entry : group.entries)
      names += (names.empty() ? "`" : " `") + entry.name + "`";
    page += "- [" + group.title + "](#" + anchor(group.title) + "): " + names + "\n";
  }
  for (const BuiltinGroup &group : builtinGroups()) {
    page += "\n## " + group.title + "\n";
    for (const std::string &part : {group.text, listed(group.facts)})
      if (!part.empty())
        page += "\n" + StringRef(part).rtrim().str() + "\n";
    for (llvm::ArrayRef<BuiltinEntry> left = group.entries; !left.empty();) {
      // Several lines in a row read better as a table.
      size_t lines = left.take_while(isOneLine).size();
      if (lines < 3) {
        page += "\n" + section(left.front());
        left = left.drop_front();
        continue;
      }
      page += "\n| | |\n|---|---|\n";
      for (const BuiltinEntry &entry : left.take_front(lines))
        page += "| `" + entry.signature + "` | " + entry.text + " |\n";
      left = left.drop_front(lines);
    }
  }
  return page;
}
