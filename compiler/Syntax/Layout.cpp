#include "compiler/Syntax/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Unicode.h"

namespace pmap::layout {

namespace {

Doc make(Node node) { return std::make_shared<const Node>(std::move(node)); }

} // namespace

Doc text(std::string text) { return make({Node::Text, std::move(text), {}, {}, false}); }
Doc line() { return make({Node::Line, {}, {}, {}, false}); }
Doc softLine() { return make({Node::SoftLine, {}, {}, {}, false}); }
Doc fillLine() { return make({Node::FillLine, {}, {}, {}, false}); }
Doc hardLine() { return make({Node::HardLine, {}, {}, {}, true}); }
Doc emptyLine() { return concat({hardLine(), hardLine()}); }
Doc ifBroken(std::string broken, std::string flat) {
  return make({Node::IfBroken, std::move(broken), std::move(flat), {}, false});
}
Doc suffix(std::string text) { return make({Node::Suffix, std::move(text), {}, {}, true}); }

Doc concat(std::vector<Doc> parts) {
  bool breaks = llvm::any_of(parts, [](const Doc &part) { return part->breaks; });
  return make({Node::Concat, {}, {}, std::move(parts), breaks});
}

Doc indent(Doc doc) {
  bool breaks = doc->breaks;
  return make({Node::Indent, {}, {}, {std::move(doc)}, breaks});
}

Doc group(Doc doc) {
  bool breaks = doc->breaks;
  return make({Node::Group, {}, {}, {std::move(doc)}, breaks});
}

namespace {

/// A document to be written, in the state of the group around it.
struct Command {
  const Node *node;
  unsigned indent;
  bool broken;
};

unsigned widthOf(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width >= 0 ? static_cast<unsigned>(width) : static_cast<unsigned>(text.size());
}

class Renderer {
public:
  explicit Renderer(unsigned width) : width(width) {}

  std::string run(const Doc &doc) {
    commands.push_back({doc.get(), 0, true});
    while (!commands.empty()) {
      Command command = commands.back();
      commands.pop_back();
      write(command);
    }
    flushSuffixes(0);
    return std::move(out);
  }

private:
  void write(const Command &command) {
    const Node &node = *command.node;
    switch (node.kind) {
    case Node::Text:
      return put(node.text);
    case Node::IfBroken:
      return put(command.broken ? node.text : node.flatText);
    case Node::Suffix:
      suffixes.push_back(node.text);
      return;
    case Node::Line:
      return command.broken ? newline(command.indent) : put(" ");
    case Node::SoftLine:
      if (command.broken)
        newline(command.indent);
      return;
    case Node::FillLine: {
      // The next element is the next command.
      unsigned needed = 1 + (commands.empty() ? 0 : flatWidth(*commands.back().node));
      return column + needed <= width ? put(" ") : newline(command.indent);
    }
    case Node::HardLine:
      return newline(command.indent);
    case Node::Concat:
      for (const Doc &child : llvm::reverse(node.children))
        commands.push_back({child.get(), command.indent, command.broken});
      return;
    case Node::Indent:
      commands.push_back({node.children[0].get(), command.indent + 2, command.broken});
      return;
    case Node::Group: {
      Command inner{node.children[0].get(), command.indent, false};
      inner.broken = node.breaks || !fits(inner);
      commands.push_back(inner);
      return;
    }
    }
  }

  static unsigned flatWidth(const Node &node) {
    switch (node.kind) {
    case Node::Text:
      return widthOf(node.text);
    case Node::IfBroken:
      return widthOf(node.flatText);
    case Node::Line:
    case Node::FillLine:
      return 1;
    default:
      unsigned sum = 0;
      for (const Doc &child : node.children)
        sum += flatWidth(*child);
      return sum;
    }
  }

  /// Whether a line may break before any text of the document: what is behind `=`.
  static bool startsWithLine(const Node &node) {
    switch (node.kind) {
    case Node::Line:
    case Node::FillLine:
    case Node::HardLine:
      return true;
    case Node::Concat:
      for (const Doc &child : node.children)
        if (child->kind != Node::Concat || !child->children.empty())
          return startsWithLine(*child);
      return false;
    case Node::Indent:
    case Node::Group:
      return startsWithLine(*node.children[0]);
    default:
      return false;
    }
  }

  /// Whether the document fits on the rest of the line, together with what follows up to the next place that will
  /// break: of what follows, groups count as unbroken, so that of two groups in a row the first breaks first.
  bool fits(const Command &command) const {
    if (column > width)
      return false;
    unsigned left = width - column;
    std::vector<Command> stack{command};
    size_t rest = commands.size();
    const size_t own = rest;
    while (true) {
      if (stack.empty()) {
        if (rest == 0)
          return true;
        stack.push_back(commands[--rest]);
      }
      Command next = stack.back();
      stack.pop_back();
      unsigned taken = 0;
      switch (next.node->kind) {
      case Node::Text:
        taken = widthOf(next.node->text);
        break;
      case Node::IfBroken:
        taken = widthOf(next.broken ? next.node->text : next.node->flatText);
        break;
      case Node::Suffix:
        break;
      case Node::FillLine:
      case Node::Line:
        if (next.broken)
          return true;
        taken = 1;
        break;
      case Node::SoftLine:
        if (next.broken)
          return true;
        break;
      case Node::HardLine:
        return true;
      case Node::Concat:
        for (const Doc &child : llvm::reverse(next.node->children))
          stack.push_back({child.get(), next.indent, next.broken});
        break;
      case Node::Indent:
        stack.push_back({next.node->children[0].get(), next.indent, next.broken});
        break;
      case Node::Group:
        if (rest < own && startsWithLine(*next.node))
          return true;
        stack.push_back({next.node->children[0].get(), next.indent, next.node->breaks});
        break;
      }
      if (taken > left)
        return false;
      left -= taken;
    }
  }

  void put(const std::string &text) {
    out += text;
    column += widthOf(text);
  }

  void newline(unsigned indent) {
    flushSuffixes(indent);
    out += '\n';
    out.append(indent, ' ');
    column = indent;
  }

  /// A line has room for one comment; what would be a second one goes to a line of its own.
  void flushSuffixes(unsigned indent) {
    trimBlanks();
    bool first = true;
    for (const std::string &suffix : suffixes) {
      if (!first) {
        out += '\n';
        out.append(indent, ' ');
      }
      bool fresh = out.empty() || out.back() == '\n' || out.back() == ' ';
      out += !fresh && first ? "  " + suffix : suffix;
      first = false;
    }
    suffixes.clear();
  }

  void trimBlanks() {
    while (!out.empty() && out.back() == ' ')
      out.pop_back();
  }

  unsigned width;
  unsigned column = 0;
  std::string out;
  std::vector<Command> commands;
  std::vector<std::string> suffixes;
};

} // namespace

std::string render(const Doc &doc, unsigned width) { return Renderer(width).run(doc); }

} // namespace pmap::layout
