// Breaking lines: documents of text with places where a line may break, in groups that break all of their places or
// none. After P. Wadler, "A prettier printer" (2003), with the line suffixes and forced breaks of Prettier.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <vector>

namespace pmap::layout {

struct Node;
using Doc = std::shared_ptr<const Node>;

struct Node {
  enum Kind { Text, Line, SoftLine, HardLine, FillLine, Concat, Indent, Group, IfBroken, Suffix };
  Kind kind;
  std::string text;          ///< Of Text and Suffix; of IfBroken: when broken.
  std::string flatText;      ///< Of IfBroken: when not.
  std::vector<Doc> children; ///< Of Concat; one of Indent and Group.
  bool breaks = false;       ///< A line must break somewhere within.
};

Doc text(std::string text);
/// A blank, or a line break when its group is broken.
Doc line();
/// Nothing, or a line break when its group is broken.
Doc softLine();
/// A blank, or a line break where the document behind it, up to its end, does not fit. For lists that fill their lines.
Doc fillLine();
/// A line break; every group around it is broken.
Doc hardLine();
/// An empty line.
Doc emptyLine();
Doc concat(std::vector<Doc> parts);
/// Two columns more after each line break within.
Doc indent(Doc doc);
/// On one line if it fits, else with all of its own breaks.
Doc group(Doc doc);
/// One text or the other, depending on whether the group around it is broken.
Doc ifBroken(std::string broken, std::string flat = "");
/// Text put at the end of the current line, behind whatever else comes there: a trailing comment, two blanks
/// apart. Breaks the groups around it.
Doc suffix(std::string text);

std::string render(const Doc &doc, unsigned width);

} // namespace pmap::layout
