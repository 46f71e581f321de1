#include "compiler/Syntax/Literals.h"
#include "compiler/Syntax/PrinterImpl.h"

namespace pmap {

using namespace ast;
using namespace layout;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;

namespace {

/// How tightly an expression binds; an operand that binds less than its place asks for gets parentheses. As in Pmap.g4.
enum Level : unsigned {
  LevelLambda,
  LevelPipe,
  LevelCast,
  LevelOr,
  LevelAnd,
  LevelNot,
  LevelCompare,
  LevelRange,
  LevelAdd,
  LevelMul,
  LevelNeg,
  LevelPow,
  LevelPostfix,
};

Level level(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return LevelOr;
  case BinaryOp::And:
    return LevelAnd;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return LevelAdd;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
  case BinaryOp::MatMul:
    return LevelMul;
  case BinaryOp::Pow:
    return LevelPow;
  default:
    return LevelCompare;
  }
}

Level level(const Expr &e) {
  switch (e.kind) {
  case ExprKind::Lambda:
    return LevelLambda;
  case ExprKind::Pipe:
    return LevelPipe;
  case ExprKind::Cast:
  case ExprKind::With:
    return LevelCast;
  case ExprKind::Range:
    return LevelRange;
  case ExprKind::Unary:
    return cast<UnaryExpr>(e).op == UnaryOp::Not ? LevelNot : LevelNeg;
  case ExprKind::Binary:
    return level(cast<BinaryExpr>(e).op);
  default:
    return LevelPostfix;
  }
}

bool isPlainNumber(const Expr &e) {
  if (auto *unary = dyn_cast<UnaryExpr>(&e))
    return unary->op == UnaryOp::Neg && isa<NumberExpr>(*unary->operand);
  return isa<NumberExpr, BoolExpr>(e);
}

uint32_t beginOf(const ExprPtr &e) { return e->range.begin; }

} // namespace

Doc Printer::exprDoc(const Expr &e, unsigned minimum) {
  if (!e.parenthesized && level(e) >= minimum)
    return exprUnwrapped(e);
  Doc inner = exprUnwrapped(e);
  Doc comments = concat({});
  if (module && e.parenthesized) {
    // Between the expression and the bracket stand only blanks and comments.
    llvm::StringRef source = module->file->text();
    size_t at = e.range.end;
    while (at < source.size() && source[at] != ')')
      at = source[at] == '#' ? std::min(source.find('\n', at), source.size()) : at + 1;
    comments = beforeClosing(static_cast<uint32_t>(at));
  }
  return group(concat({text("("), indent(concat({softLine(), inner, comments})), softLine(), text(")")}));
}

Doc Printer::exprUnwrapped(const Expr &e) {
  switch (e.kind) {
  case ExprKind::Number:
    return text(cast<NumberExpr>(e).text);
  case ExprKind::Bool:
    return text(cast<BoolExpr>(e).value ? "true" : "false");
  case ExprKind::String:
    return text(quoteString(cast<StringExpr>(e).value));
  case ExprKind::Name:
    return text(cast<NameExpr>(e).name);
  case ExprKind::Hole:
    return text("_");
  case ExprKind::Ellipsis:
    return text("...");
  case ExprKind::Unary: {
    auto &unary = cast<UnaryExpr>(e);
    if (unary.op == UnaryOp::Not)
      return concat({text("not "), exprDoc(*unary.operand, LevelNot)});
    return concat({text("-"), exprDoc(*unary.operand, LevelNeg)});
  }
  case ExprKind::Binary:
    return binaryDoc(cast<BinaryExpr>(e));
  case ExprKind::Range: {
    bool outer = std::exchange(tight, true);
    Doc begin = exprDoc(*cast<RangeExpr>(e).begin, LevelRange + 1);
    Doc end = exprDoc(*cast<RangeExpr>(e).end, LevelRange + 1);
    tight = outer;
    return concat({begin, text(".."), end});
  }
  case ExprKind::Cast: {
    Doc operand = exprDoc(*cast<CastExpr>(e).operand, LevelCast);
    return concat({operand, text(" :> "), typeDoc(*cast<CastExpr>(e).type)});
  }
  case ExprKind::With: {
    auto &with = cast<WithExpr>(e);
    Doc record = exprDoc(*with.record, LevelCast);
    Doc fields = list(
        "(", with.fields, ")", closing(e.range), [](const NamedExpr &f) { return f.name.range.begin; },
        [&](const NamedExpr &f) { return namedDoc(f); });
    return concat({record, text(" with "), fields});
  }
  case ExprKind::Pipe:
    return pipeDoc(cast<PipeExpr>(e));
  case ExprKind::Call:
    return callDoc(cast<CallExpr>(e));
  case ExprKind::Index: {
    auto &index = cast<IndexExpr>(e);
    Doc base = exprDoc(*index.base, LevelPostfix);
    bool outer = std::exchange(tight, false);
    Doc subscripts = list(
        "[", index.subscripts, "]", closing(e.range), [](const Subscript &s) { return s.range.begin; },
        [&](const Subscript &s) { return subscriptDoc(s); });
    tight = outer;
    return concat({base, subscripts});
  }
  case ExprKind::Field: {
    auto &field = cast<FieldExpr>(e);
    Doc base = exprDoc(*field.base, LevelPostfix);
    // `1.w` would be read as a number.
    if (isa<NumberExpr>(*field.base) && !field.base->parenthesized)
      base = concat({text("("), base, text(")")});
    return concat({base, text("." + field.field.text)});
  }
  case ExprKind::Tuple:
    return list(
        "(", cast<TupleExpr>(e).elements, ")", closing(e.range), beginOf,
        [&](const ExprPtr &element) { return exprDoc(*element); }, /*commaOfOne=*/true);
  case ExprKind::Record:
    return list(
        "(", cast<RecordExpr>(e).fields, ")", closing(e.range), [](const NamedExpr &f) { return f.name.range.begin; },
        [&](const NamedExpr &f) { return namedDoc(f); });
  case ExprKind::Array:
    return arrayDoc(cast<ArrayExpr>(e));
  case ExprKind::Comprehension:
    return comprehensionDoc(cast<ComprehensionExpr>(e));
  case ExprKind::If:
    return group(ifDoc(cast<IfExpr>(e)));
  case ExprKind::Block: {
    bool outer = std::exchange(tight, false);
    Doc block = blockDoc(cast<BlockExpr>(e));
    tight = outer;
    return block;
  }
  case ExprKind::Lambda: {
    auto &lambda = cast<LambdaExpr>(e);
    bool outer = std::exchange(tight, false);
    Doc tail = functionTail(lambda.params, lambda.resultType.get(), *lambda.body, e.range, /*keepBreak=*/false);
    tight = outer;
    return concat({text("fn"), tail});
  }
  }
  llvm_unreachable("unknown expression");
}

Doc Printer::binaryDoc(const BinaryExpr &e) {
  Level own = level(e.op);
  // A chain of operators of one level breaks at all of them or at none.
  std::vector<const BinaryExpr *> chain{&e};
  if (own != LevelCompare && own != LevelPow)
    while (auto *lhs = dyn_cast<BinaryExpr>(chain.back()->lhs.get())) {
      if (level(lhs->op) != own || lhs->parenthesized)
        break;
      chain.push_back(lhs);
    }
  unsigned leftLevel = own == LevelCompare ? own + 1 : own == LevelPow ? unsigned(LevelPostfix) : unsigned(own);
  unsigned rightLevel = own == LevelPow ? unsigned(LevelNeg) : own + 1;
  Doc first = exprDoc(*chain.back()->lhs, leftLevel);
  std::vector<Doc> rest;
  for (const BinaryExpr *link : llvm::reverse(chain)) {
    uint32_t begin = link->rhs->range.begin;
    if (tight && own >= LevelAdd) {
      rest.push_back(text(spelling(link->op).str()));
    } else {
      rest.push_back(text(" " + spelling(link->op).str()));
      rest.push_back(behind(begin));
      rest.push_back(line());
      rest.push_back(above(begin));
    }
    rest.push_back(exprDoc(*link->rhs, rightLevel));
  }
  return group(concat({first, indent(concat(std::move(rest)))}));
}

Doc Printer::pipeDoc(const PipeExpr &e) {
  std::vector<const PipeExpr *> chain{&e};
  while (auto *lhs = dyn_cast<PipeExpr>(chain.back()->lhs.get())) {
    if (lhs->parenthesized)
      break;
    chain.push_back(lhs);
  }
  Doc first = exprDoc(*chain.back()->lhs, LevelPipe);
  std::vector<Doc> rest;
  for (const PipeExpr *link : llvm::reverse(chain)) {
    rest.push_back(behind(link->opRange.begin));
    rest.push_back(line());
    rest.push_back(above(link->opRange.begin));
    rest.push_back(text("|> "));
    rest.push_back(exprDoc(*link->rhs, LevelPipe + 1));
  }
  return group(concat({first, indent(concat(std::move(rest)))}));
}

Doc Printer::ifDoc(const IfExpr &e) {
  bool outer = std::exchange(tight, false);
  Doc condition = exprDoc(*e.condition);
  std::vector<Doc> parts{text("if "), condition, text(" "), blockDoc(*e.thenBlock, /*grouped=*/false)};
  if (e.elseBranch) {
    parts.push_back(text(" else "));
    if (auto *elseIf = dyn_cast<IfExpr>(e.elseBranch.get()))
      parts.push_back(ifDoc(*elseIf));
    else
      parts.push_back(blockDoc(cast<BlockExpr>(*e.elseBranch), /*grouped=*/false));
  }
  tight = outer;
  return concat(std::move(parts));
}

Doc Printer::comprehensionDoc(const ComprehensionExpr &e) {
  bool outer = std::exchange(tight, false);
  std::vector<Doc> head{text("[for ")};
  for (const ComprehensionRange &r : e.ranges) {
    if (&r != &e.ranges.front())
      head.push_back(text(", "));
    head.push_back(text(r.index.text));
    if (r.range) {
      head.push_back(text(" in "));
      head.push_back(exprDoc(*r.range));
    }
  }
  head.push_back(text(":"));
  uint32_t begin = e.body->range.begin;
  Doc behindColon = behind(begin);
  Doc result;
  if (isa<BlockExpr>(*e.body) && !e.body->parenthesized && !behindColon->breaks && !hasCommentBefore(begin)) {
    head.push_back(text(" "));
    head.push_back(exprDoc(*e.body));
    head.push_back(behind(closing(e.range)));
    head.push_back(text("]"));
    result = concat(std::move(head));
  } else {
    Doc comments = above(begin);
    Doc body = exprDoc(*e.body);
    Doc after = beforeClosing(closing(e.range));
    head.push_back(indent(concat({behindColon, line(), comments, body, after})));
    head.push_back(softLine());
    head.push_back(text("]"));
    result = group(concat(std::move(head)));
  }
  tight = outer;
  return result;
}

Doc Printer::arrayDoc(const ArrayExpr &e) {
  bool numbers = e.elements.size() > 1 && !hasCommentBefore(closing(e.range));
  for (const ExprPtr &element : e.elements)
    numbers &= isPlainNumber(*element);
  if (!numbers)
    return list("[", e.elements, "]", closing(e.range), beginOf,
                [&](const ExprPtr &element) { return exprDoc(*element); });
  // Numbers fill their lines, as a column of them would be hard to read.
  std::vector<Doc> inner;
  for (const ExprPtr &element : e.elements) {
    Doc doc = exprDoc(*element);
    if (element != e.elements.front())
      inner.push_back(fillLine());
    inner.push_back(concat({doc, text(element == e.elements.back() ? "]" : ",")}));
  }
  return concat({text("["), indent(concat(std::move(inner)))});
}

Doc Printer::namedDoc(const NamedExpr &field) { return concat({text(field.name.text + ": "), exprDoc(*field.value)}); }

Doc Printer::callDoc(const CallExpr &e) {
  Doc callee = exprDoc(*e.callee, LevelPostfix);
  bool outer = std::exchange(tight, false);
  auto argumentDoc = [&](const Argument &argument) {
    Doc value = exprDoc(*argument.value);
    return argument.isNamed() ? concat({text(argument.label.text + ": "), value}) : value;
  };
  // A function with a block as last argument stands behind the others on the line, and only its block is broken.
  auto *last = e.args.empty() ? nullptr : dyn_cast<LambdaExpr>(e.args.back().value.get());
  Doc result;
  if (last && !last->parenthesized && isa<BlockExpr>(*last->body) && !hasCommentBefore(last->body->range.begin)) {
    std::vector<Doc> parts{callee, text("(")};
    for (const Argument &argument : e.args) {
      if (&argument != &e.args.front())
        parts.push_back(text(", "));
      parts.push_back(argumentDoc(argument));
    }
    parts.push_back(behind(closing(e.range)));
    parts.push_back(text(")"));
    result = concat(std::move(parts));
  } else {
    result = concat(
        {callee,
         list("(", e.args, ")", closing(e.range), [](const Argument &a) { return a.range().begin; }, argumentDoc)});
  }
  tight = outer;
  return result;
}

Doc Printer::subscriptDoc(const Subscript &s) {
  switch (s.kind) {
  case Subscript::At:
    return exprDoc(*s.index);
  case Subscript::Ellipsis:
    return text("...");
  case Subscript::NewAxis:
    return text("newaxis");
  case Subscript::Slice: {
    bool outer = std::exchange(tight, true);
    std::vector<Doc> parts;
    if (s.lower)
      parts.push_back(exprDoc(*s.lower));
    parts.push_back(text(":"));
    if (s.upper)
      parts.push_back(exprDoc(*s.upper));
    if (s.stride) {
      parts.push_back(text(":"));
      parts.push_back(exprDoc(*s.stride));
    }
    tight = outer;
    return concat(std::move(parts));
  }
  }
  llvm_unreachable("unknown subscript");
}

} // namespace pmap
