// The tree as text: one node a line, children indented. Nothing of positions, comments or redundant parentheses, so
// that equal dumps mean equal programs.
#include "compiler/Syntax/AST.h"
#include "compiler/Syntax/Literals.h"
#include "llvm/Support/raw_ostream.h"

namespace pmap::ast {

namespace {

using llvm::cast;

class Dumper {
public:
  explicit Dumper(llvm::raw_ostream &os) : os(os) {}

  void module(const Module &m) {
    line("module");
    Nest nest(*this);
    doc(m.doc);
    for (const ItemPtr &i : m.items)
      item(*i);
  }

  void item(const Item &i) {
    switch (i.kind) {
    case ItemKind::Import: {
      auto &import = cast<ImportItem>(i);
      line("import " + (import.isPath ? quoteString(import.module) : import.module) + " as " + import.alias.text);
      Nest nest(*this);
      return doc(i.doc);
    }
    case ItemKind::Function: {
      auto &f = cast<FunctionItem>(i);
      line((f.isExport ? "export fn " : "fn ") + f.name.text);
      Nest nest(*this);
      doc(i.doc);
      return function(f.params, f.resultType.get(), *f.body);
    }
    case ItemKind::Type: {
      auto &t = cast<TypeItem>(i);
      line("type " + t.name.text + (t.hasParams ? names(t.params) : ""));
      Nest nest(*this);
      doc(i.doc);
      return type(*t.type);
    }
    case ItemKind::Const: {
      auto &c = cast<ConstItem>(i);
      line("const " + c.name.text);
      Nest nest(*this);
      doc(i.doc);
      if (c.type)
        type(*c.type);
      return expr(*c.value);
    }
    case ItemKind::Test: {
      auto &t = cast<TestItem>(i);
      line("test " + quoteString(t.name));
      Nest nest(*this);
      doc(i.doc);
      return expr(*t.body);
    }
    }
  }

  void statement(const Stmt &s) {
    switch (s.kind) {
    case StmtKind::Let: {
      auto &let = cast<LetStmt>(s);
      line(std::string(let.isVar ? "var " : "let ") + (let.sizes.empty() ? "" : names(let.sizes) + " ") +
           pattern(*let.pattern));
      Nest nest(*this);
      if (let.type)
        type(*let.type);
      return expr(*let.value);
    }
    case StmtKind::Assign: {
      line("assign");
      Nest nest(*this);
      expr(*cast<AssignStmt>(s).target);
      return expr(*cast<AssignStmt>(s).value);
    }
    case StmtKind::For: {
      auto &loop = cast<ForStmt>(s);
      line("for " + pattern(*loop.pattern));
      Nest nest(*this);
      expr(*loop.iterable);
      return expr(*loop.body);
    }
    case StmtKind::While: {
      line("while");
      Nest nest(*this);
      expr(*cast<WhileStmt>(s).condition);
      return expr(*cast<WhileStmt>(s).body);
    }
    case StmtKind::Break:
      return line("break");
    case StmtKind::Assert: {
      line("assert");
      Nest nest(*this);
      expr(*cast<AssertStmt>(s).condition);
      if (cast<AssertStmt>(s).message)
        expr(*cast<AssertStmt>(s).message);
      return;
    }
    case StmtKind::Expr:
      return expr(*cast<ExprStmt>(s).expr);
    }
  }

  void expr(const Expr &e) {
    switch (e.kind) {
    case ExprKind::Number:
      return line("number " + cast<NumberExpr>(e).text);
    case ExprKind::Bool:
      return line(cast<BoolExpr>(e).value ? "bool true" : "bool false");
    case ExprKind::String:
      return line("string " + quoteString(cast<StringExpr>(e).value));
    case ExprKind::Name:
      return line("name " + cast<NameExpr>(e).name);
    case ExprKind::Hole:
      return line("hole");
    case ExprKind::Ellipsis:
      return line("ellipsis");
    case ExprKind::Unary:
      return node("unary " + spelling(cast<UnaryExpr>(e).op).str(), e);
    case ExprKind::Binary:
      return node("binary " + spelling(cast<BinaryExpr>(e).op).str(), e);
    case ExprKind::Range:
      return node("range", e);
    case ExprKind::Cast: {
      line("cast");
      Nest nest(*this);
      expr(*cast<CastExpr>(e).operand);
      return type(*cast<CastExpr>(e).type);
    }
    case ExprKind::With: {
      line("with");
      Nest nest(*this);
      expr(*cast<WithExpr>(e).record);
      return fields(cast<WithExpr>(e).fields);
    }
    case ExprKind::Pipe:
      return node("pipe", e);
    case ExprKind::Call: {
      line("call");
      Nest nest(*this);
      expr(*cast<CallExpr>(e).callee);
      for (const Argument &argument : cast<CallExpr>(e).args) {
        if (!argument.isNamed()) {
          expr(*argument.value);
          continue;
        }
        line("label " + argument.label.text);
        Nest value(*this);
        expr(*argument.value);
      }
      return;
    }
    case ExprKind::Index: {
      line("index");
      Nest nest(*this);
      expr(*cast<IndexExpr>(e).base);
      for (const Subscript &s : cast<IndexExpr>(e).subscripts)
        subscript(s);
      return;
    }
    case ExprKind::Field:
      return node("field " + cast<FieldExpr>(e).field.text, e);
    case ExprKind::Tuple:
      return node("tuple", e);
    case ExprKind::Record: {
      line("record");
      Nest nest(*this);
      return fields(cast<RecordExpr>(e).fields);
    }
    case ExprKind::Array:
      return node("array", e);
    case ExprKind::Comprehension: {
      line("comprehension");
      Nest nest(*this);
      for (const ComprehensionRange &r : cast<ComprehensionExpr>(e).ranges) {
        line("for " + r.index.text);
        Nest range(*this);
        if (r.range)
          expr(*r.range);
      }
      return expr(*cast<ComprehensionExpr>(e).body);
    }
    case ExprKind::If: {
      auto &i = cast<IfExpr>(e);
      line("if");
      Nest nest(*this);
      expr(*i.condition);
      expr(*i.thenBlock);
      if (i.elseBranch)
        expr(*i.elseBranch);
      return;
    }
    case ExprKind::Block: {
      line("block");
      Nest nest(*this);
      for (const StmtPtr &s : cast<BlockExpr>(e).statements)
        statement(*s);
      return;
    }
    case ExprKind::Lambda: {
      auto &lambda = cast<LambdaExpr>(e);
      line("lambda");
      Nest nest(*this);
      return function(lambda.params, lambda.resultType.get(), *lambda.body);
    }
    }
  }

private:
  struct Nest {
    explicit Nest(Dumper &d) : dumper(d) { ++dumper.depth; }
    ~Nest() { --dumper.depth; }
    Dumper &dumper;
  };

  void line(const llvm::Twine &text) { os.indent(2 * depth) << text << '\n'; }

  void doc(llvm::StringRef text) {
    if (!text.empty())
      line("doc " + quoteString(text));
  }

  /// A node whose children are all that matters.
  void node(const llvm::Twine &text, const Expr &e) {
    line(text);
    Nest nest(*this);
    forEachChild(e, [&](const Expr &child) { expr(child); });
  }

  static std::string names(const std::vector<Ident> &list) {
    std::string result = "[";
    for (const Ident &name : list)
      result += (result.size() > 1 ? ", " : "") + name.text;
    return result + "]";
  }

  static std::string pattern(const Pattern &p) {
    switch (p.kind) {
    case PatternKind::Name:
      return cast<NamePattern>(p).name.text;
    case PatternKind::Wildcard:
      return "_";
    case PatternKind::Tuple: {
      std::string result = "(";
      for (const PatternPtr &element : cast<TuplePattern>(p).elements)
        result += (result.size() > 1 ? ", " : "") + pattern(*element);
      return result + ")";
    }
    }
    llvm_unreachable("unknown pattern");
  }

  void fields(const std::vector<NamedExpr> &list) {
    for (const NamedExpr &field : list) {
      line("label " + field.name.text);
      Nest nest(*this);
      expr(*field.value);
    }
  }

  void part(llvm::StringRef label, const ExprPtr &e) {
    if (!e)
      return;
    line(label);
    Nest nest(*this);
    expr(*e);
  }

  void subscript(const Subscript &s) {
    switch (s.kind) {
    case Subscript::At:
      return expr(*s.index);
    case Subscript::Ellipsis:
      return line("ellipsis");
    case Subscript::NewAxis:
      return line("newaxis");
    case Subscript::Slice: {
      line("slice");
      Nest nest(*this);
      part("from", s.lower);
      part("to", s.upper);
      return part("by", s.stride);
    }
    }
  }

  void function(const std::vector<Param> &params, const Type *result, const Expr &body) {
    for (const Param &param : params) {
      line("param " + (param.label.text != param.name.text ? param.label.text + " " : "") + param.name.text);
      Nest nest(*this);
      doc(param.doc);
      if (param.type)
        type(*param.type);
      if (param.defaultValue)
        part("default", param.defaultValue);
    }
    if (result) {
      line("result");
      Nest nest(*this);
      type(*result);
    }
    expr(body);
  }

  void type(const Type &t) {
    switch (t.kind) {
    case TypeKind::Named: {
      auto &named = cast<NamedType>(t);
      std::string path;
      for (const Ident &name : named.path)
        path += (path.empty() ? "" : ".") + name.text;
      line("type " + path + (named.hasSizes ? "[]" : ""));
      Nest nest(*this);
      for (const ExprPtr &size : named.sizes)
        expr(*size);
      return;
    }
    case TypeKind::Tuple: {
      line("tuple type");
      Nest nest(*this);
      for (const TypePtr &element : cast<TupleType>(t).elements)
        type(*element);
      return;
    }
    case TypeKind::Record: {
      line("record type");
      Nest nest(*this);
      for (const RecordTypeField &field : cast<RecordType>(t).fields) {
        line("field " + field.name.text);
        Nest inner(*this);
        doc(field.doc);
        type(*field.type);
      }
      return;
    }
    }
  }

  llvm::raw_ostream &os;
  unsigned depth = 0;
};

template <typename Action> std::string dumped(Action action) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Dumper dumper(os);
  action(dumper);
  return text;
}

} // namespace

std::string dumpAST(const Module &module) {
  return dumped([&](Dumper &d) { d.module(module); });
}
std::string dumpAST(const Expr &e) {
  return dumped([&](Dumper &d) { d.expr(e); });
}
std::string dumpAST(const Stmt &s) {
  return dumped([&](Dumper &d) { d.statement(s); });
}

} // namespace pmap::ast
