// Reporting: every diagnostic of Sema passes here, gets the chain of calls that led to it, and can be told where sizes,
// dtypes and variance came from.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

Report::~Report() {
  if (!elaborator)
    return;
  // What goes wrong inside of the library is told of the call that led into it.
  if (SourceRange call = elaborator->callOfUser(); elaborator->isOfLibrary(diagnostic.range) && call.isValid()) {
    diagnostic.notes.insert(diagnostic.notes.begin(), {diagnostic.range, "it happens here, in the library"});
    diagnostic.range = call;
    llvm::erase_if(diagnostic.fixits, [&](const FixIt &fix) { return elaborator->isOfLibrary(fix.range); });
  }
  // Innermost call first; a long chain is cut in the middle of nowhere useful, so its far end is summed up instead.
  constexpr size_t kShown = 6;
  size_t count = 0;
  for (const CallFrame &frame : reverse(elaborator->calls)) {
    if (!frame.callRange.isValid())
      continue; // the entry itself, which nobody calls
    if (count++ == kShown) {
      diagnostic.notes.push_back(
          {SourceRange(), "and " + std::to_string(elaborator->calls.size() - kShown) + " more calls around it"});
      break;
    }
    diagnostic.notes.push_back({frame.callRange, "in this call of '" + frame.name + "'"});
  }
  elaborator->diagnostics.report(std::move(diagnostic));
}

Report &Report::note(SourceRange range, const Twine &message) {
  std::string text = message.str();
  bool said = any_of(diagnostic.notes, [&](const DiagnosticNote &n) { return n.range == range && n.message == text; });
  if (!said)
    diagnostic.notes.push_back({range, std::move(text)});
  return *this;
}

Report &Report::fix(SourceRange range, const Twine &replacement) {
  if (range.isValid())
    diagnostic.fixits.push_back({range, replacement.str()});
  return *this;
}

Report Elaborator::error(Code code, SourceRange range, const Twine &message) {
  return Report(*this, {Severity::Error, code, range, message.str(), {}, {}});
}

Report Elaborator::warning(Code code, SourceRange range, const Twine &message) {
  return Report(*this, {Severity::Warning, code, range, message.str(), {}, {}});
}

bool Elaborator::isOfLibrary(SourceRange range) const {
  return range.isValid() && any_of(options.libraryPaths, [&](const std::string &folder) {
           return StringRef(range.file->path()).starts_with(folder);
         });
}

SourceRange Elaborator::callOfUser() const {
  for (const CallFrame &frame : reverse(calls))
    if (frame.callRange.isValid() && !isOfLibrary(frame.callRange))
      return frame.callRange;
  return {};
}

void Elaborator::noteBirths(Report &report, const Size &size) {
  for (const std::string &name : size.symbols())
    if (const SizeSymbol *symbol = findSymbol(name))
      report.note(symbol->birth, "'" + symbol->shown + "' is " + symbol->birthText);
  // What the lesser of two sizes is, or a quotient rounded down, the program may know better.
  bool hasCall = any_of(size.terms(), [](const Size::Term &term) {
    return any_of(term.factors, [](const Size::Factor &factor) {
      return factor.atom->kind != SizeAtom::Symbol && factor.atom->kind != SizeAtom::Divisor;
    });
  });
  if (hasCall)
    report.note({}, "where " + render(size) +
                        " is known to be another size, `:>` says so, as in `x :> f32[n]`, and that "
                        "is checked when the program runs");
}

std::string Elaborator::sourceText(SourceRange range, size_t limit) const {
  std::string text;
  for (char c : range.isValid() ? range.text() : StringRef()) {
    bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank && (text.empty() || text.back() == ' '))
      continue;
    text += blank ? ' ' : c;
  }
  if (text.size() > limit) {
    // Cuts between characters, not within one.
    size_t cut = limit - 1;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80)
      --cut;
    text = text.substr(0, cut) + "…";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Provenance: the IR itself remembers where variance and dtypes came from, since every op carries its place.
//===----------------------------------------------------------------------===//

SourceRange Elaborator::rangeOf(mlir::Location location) const {
  // What a failure there would say (FailureText.h) is no part of the place.
  while (auto named = mlir::dyn_cast<mlir::NameLoc>(location))
    location = named.getChildLoc();
  auto found = rangesOfLocations.find(location);
  return found == rangesOfLocations.end() ? SourceRange() : found->second;
}

static mlir::Value operandThatVaries(mlir::Operation *op, StringRef axis) {
  for (mlir::Value operand : op->getOperands())
    if (contains(varyOf(operand.getType()), axis))
      return operand;
  // A region op varies because of what it yields.
  for (mlir::Region &region : op->getRegions())
    for (mlir::Block &block : region)
      if (!block.empty())
        for (mlir::Value operand : block.back().getOperands())
          if (contains(varyOf(operand.getType()), axis))
            return operand;
  return {};
}

void Elaborator::noteVariance(Report &report, mlir::Value value, StringRef axis) {
  bool isRows = false;
  std::string over = "over \"" + axis.str() + "\"", origin = "split " + over;
  for (const MeshContext &mesh : meshes)
    if (mesh.isVmap && mesh.axes.front() == axis) {
      isRows = true;
      over = mesh.anonymous ? "from row to row" : over;
      origin = mesh.anonymous ? "mapped by the vmap" : "mapped " + over;
    }
  SourceRange last;
  for (int steps = 0; value && steps < 12; ++steps) {
    SourceRange range = rangeOf(value.getLoc());
    mlir::Operation *op = value.getDefiningOp();
    mlir::Value cause = op ? operandThatVaries(op, axis) : mlir::Value();
    bool silent = isa_and_nonnull<WidenOp, BroadcastOp, ReshapeOp, ToBoolOp>(op) && cause;
    if (range.isValid() && range != last && !silent) {
      std::string text = sourceText(range);
      if (cause)
        report.note(range, "'" + text + "' varies " + over);
      else if (isa_and_nonnull<AxisIndexOp>(op))
        report.note(range,
                    "'" + text + "' differs between the " + (isRows ? "rows" : "devices") + " of \"" + axis + "\"");
      else
        report.note(range, "'" + text + "' is " + origin + ", or depends on something that is");
      last = range;
    }
    value = cause;
  }
}

void Elaborator::noteDType(Report &report, const Value &value) {
  std::optional<DType> dtype = dtypeOf(value);
  if (!dtype)
    return;
  const auto *array = value.as<ArrayValue>();
  mlir::Value ssa = array ? array->ssa : mlir::Value();
  // Follows the operation's operands of the same element type to where the type was first written.
  while (ssa && ssa.getDefiningOp()) {
    mlir::Operation *op = ssa.getDefiningOp();
    mlir::Value next;
    for (mlir::Value operand : op->getOperands())
      if (isa<mlir::RankedTensorType>(operand.getType()) &&
          mlir::getElementTypeOrSelf(operand.getType()) == mlir::getElementTypeOrSelf(ssa.getType())) {
        // A literal took its dtype from what stands beside it.
        mlir::Operation *source = operand.getDefiningOp();
        while (isa_and_nonnull<WidenOp, BroadcastOp>(source))
          source = source->getOperand(0).getDefiningOp();
        bool isLiteral = isa_and_nonnull<mlir::arith::ConstantOp>(source);
        if (next && isLiteral)
          continue;
        next = operand;
        if (!isLiteral)
          break;
      }
    if (!next || !rangeOf(next.getLoc()).isValid())
      break;
    ssa = next;
  }
  SourceRange range = ssa ? rangeOf(ssa.getLoc()) : SourceRange();
  // The fields of a record that is a parameter all stand at its name, which tells nothing of one of them.
  if (auto argument = dyn_cast_or_null<mlir::BlockArgument>(ssa);
      argument && value.range().isValid() &&
      any_of(argument.getOwner()->getArguments(), [&](mlir::BlockArgument other) {
        return other != argument && other.getLoc() == argument.getLoc() && isa<mlir::RankedTensorType>(other.getType());
      }))
    range = value.range();
  if (!range.isValid())
    range = value.range();
  if (range.isValid())
    report.note(range, "'" + sourceText(range) + "' is " + dtypeName(*dtype));
}

} // namespace pmap::sema
