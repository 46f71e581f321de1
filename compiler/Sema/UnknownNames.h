// Names that mean nothing, found in a function's text alone.
#pragma once

namespace pmap::ast {
struct FunctionItem;
}

namespace pmap::sema {

class Elaborator;

/// Reports the names in the body of a function that are known nowhere (E0201, E0204), for functions whose parameters
/// do not say enough to elaborate all of it. The elaborator's module is the function's. True where there was one.
bool reportUnknownNames(Elaborator &elaborator, const ast::FunctionItem &function);

} // namespace pmap::sema
