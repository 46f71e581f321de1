// docs/builtins says of every builtin what there is to know: the table of builtins and the pages agree.
#include "compiler/Support/BuiltinPages.h"
#include "compiler/Sema/Builtin.h"
#include "compiler/Support/DType.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>
#include <set>

using namespace pmap;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// `sum(x, axis: all, keep: false)` as the table writes parameters: `x, axis:?, keep:?`.
std::string parametersOf(StringRef signature) {
  StringRef list = signature.drop_while([](char c) { return c != '('; }).drop_front().drop_back();
  std::string result;
  SmallVector<StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    part = part.trim();
    StringRef name = part.take_front(part.find_first_of(":= ")), rest = part.drop_front(name.size());
    std::string text = name.str();
    text += rest.starts_with(":") ? ":" : "";
    text += rest.size() > 1 ? "?" : ""; // it has a default
    result += (result.empty() ? "" : ", ") + text;
  }
  return result;
}

std::string parametersOf(const sema::Builtin &builtin) {
  std::string result;
  for (const sema::Parameter &parameter : builtin.parameters)
    result += std::string(result.empty() ? "" : ", ") + (parameter.variadic ? "*" : "") + parameter.name +
              (parameter.namedOnly ? ":" : "") + (parameter.optional ? "?" : "");
  return result;
}

bool hasWord(StringRef text, StringRef word) {
  auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1)) {
    StringRef before = text.take_front(at), after = text.drop_front(at + word.size());
    if ((before.empty() || !isLetter(before.back())) && (after.empty() || !isLetter(after.front())))
      return true;
  }
  return false;
}

TEST(BuiltinPages, SayOfEveryBuiltinWhatItsParametersAre) {
  for (const auto &row : sema::BuiltinTable::get().all()) {
    const BuiltinEntry *entry = builtinEntry(row.getKey());
    ASSERT_TRUE(entry) << "docs/builtins has no entry for " << row.getKey().str();
    EXPECT_EQ(parametersOf(entry->signature), parametersOf(row.getValue())) << entry->signature;
  }
}

TEST(BuiltinPages, NameNothingElseAndNothingTwice) {
  std::set<std::string> seen;
  for (const BuiltinGroup &group : builtinGroups())
    for (const BuiltinEntry &entry : group.entries) {
      EXPECT_TRUE(sema::BuiltinTable::get().find(entry.name) || parseDType(entry.name)) << entry.name;
      EXPECT_TRUE(seen.insert(entry.name).second) << entry.name << " has two entries";
    }
}

TEST(BuiltinPages, SayWhatEachParameterMeansAndHowItBehaves) {
  for (const auto &row : sema::BuiltinTable::get().all()) {
    const BuiltinEntry *entry = builtinEntry(row.getKey());
    ASSERT_TRUE(entry);
    EXPECT_FALSE(entry->text.empty()) << entry->name;
    std::string text = entry->text + "\n" + entry->group->text;
    for (size_t i = 0; i < factNames.size(); ++i) {
      text += "\n" + entry->fact(i).str();
      // Shapes and dtypes go without saying where a function takes whatever there is.
      EXPECT_TRUE(!entry->fact(i).empty() || i < 2) << entry->name << " says nothing of " << factNames[i].str();
    }
    for (const sema::Parameter &parameter : row.getValue().parameters)
      EXPECT_TRUE(hasWord(text, parameter.name)) << entry->name << " does not say what `" << parameter.name << "` is";
  }
}

} // namespace
