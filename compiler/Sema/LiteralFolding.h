// Operators on literals.
#pragma once

#include "compiler/Sema/Value.h"
#include "compiler/Syntax/AST.h"

namespace pmap::sema {

/// The number that a literal is; nothing for other values.
std::optional<double> numberOf(const Value &value);
/// Folds an operator on two literals; null when it has no literal result (overflow, division by zero).
Value foldLiterals(ast::BinaryOp op, const Value &lhs, const Value &rhs, SourceRange range);

} // namespace pmap::sema
