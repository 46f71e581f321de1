// The text form and the verifiers of the dialect's attributes and types.
#include "compiler/Dialect/IR/Layout.h"
#include "compiler/Dialect/IR/PmapDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pmap;

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/IR/PmapAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/IR/PmapTypes.cpp.inc"

void PmapDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/IR/PmapAttrs.cpp.inc"
      >();
}

void PmapDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/Dialect/IR/PmapTypes.cpp.inc"
      >();
}

namespace {

ParseResult parseString(AsmParser &parser, StringAttr &result) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  result = StringAttr::get(parser.getContext(), text);
  return success();
}

// ["a", "b"]
ParseResult parseStrings(AsmParser &parser, SmallVectorImpl<StringAttr> &result) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&]() -> ParseResult { return parseString(parser, result.emplace_back()); });
}

void printString(AsmPrinter &printer, StringAttr text) { printer.printString(text.getValue()); }

void printStrings(AsmPrinter &printer, ArrayRef<StringAttr> strings) {
  printer << '[';
  llvm::interleaveComma(strings, printer, [&](StringAttr text) { printString(printer, text); });
  printer << ']';
}

ParseResult parseIntegers(AsmParser &parser, SmallVectorImpl<int64_t> &result) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&]() -> ParseResult { return parser.parseInteger(result.emplace_back()); });
}

void printIntegers(AsmPrinter &printer, ArrayRef<int64_t> integers) {
  printer << '[';
  llvm::interleaveComma(integers, printer);
  printer << ']';
}

SmallVector<StringAttr> namesOf(ArrayAttr names) { return llvm::to_vector(names.getAsRange<StringAttr>()); }

} // namespace

//===- layout
//---------------------------------------------------------------------------------------------------------===//

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> sizes, vary;
  if (parser.parseLess() || parseStrings(parser, sizes) || parser.parseComma() || parseStrings(parser, vary) ||
      parser.parseGreater())
    return {};
  return LayoutAttr::get(parser.getContext(), sizes, vary);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printStrings(printer, getSizes());
  printer << ", ";
  printStrings(printer, getVary());
  printer << '>';
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (getSizes().size() != shape.size())
    return emitError() << "(layout-1) expected " << shape.size() << " sizes, got " << getSizes().size();
  bool dynamic = false;
  for (auto [text, extent] : llvm::zip_equal(getSizes(), shape)) {
    std::optional<Size> size = Size::parse(text.getValue());
    if (!size || size->str() != text.getValue()) {
      InFlightDiagnostic error = emitError() << "(layout-5) size " << text << " is not in normal form";
      if (size)
        error << ", which is \"" << size->str() << "\"";
      return error;
    }
    if (std::optional<int64_t> constant = size->constant(); constant.value_or(ShapedType::kDynamic) != extent)
      return emitError() << "(layout-2) size " << text << " does not agree with dimension "
                         << (ShapedType::isDynamic(extent) ? std::string("?") : std::to_string(extent));
    dynamic |= ShapedType::isDynamic(extent);
  }
  if (!dynamic && getVary().empty())
    return emitError() << "(layout-3) a static tensor that does not vary has no layout";
  for (size_t i = 1; i < getVary().size(); ++i)
    if (getVary()[i - 1].getValue() >= getVary()[i].getValue())
      return emitError() << "(layout-4) the axes of V must be sorted and distinct";
  return success();
}

//===- spec
//-----------------------------------------------------------------------------------------------------------===//

Attribute SpecAttr::parse(AsmParser &parser, Type) {
  SmallVector<ArrayAttr> dims;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<StringAttr> axes;
    if (parseStrings(parser, axes))
      return failure();
    dims.push_back(ArrayAttr::get(parser.getContext(), SmallVector<Attribute>(axes.begin(), axes.end())));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<SpecAttr>(parser.getContext(), dims);
}

void SpecAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](ArrayAttr axes) { printStrings(printer, namesOf(axes)); });
  printer << "]>";
}

LogicalResult SpecAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<ArrayAttr> dims) {
  SmallVector<StringAttr> seen;
  for (ArrayAttr axes : dims)
    for (Attribute axis : axes) {
      auto name = dyn_cast<StringAttr>(axis);
      if (!name || llvm::is_contained(seen, name))
        return emitError() << "(spec-1) axis " << axis << " is used twice";
      seen.push_back(name);
    }
  return success();
}

SpecAttr SpecAttr::getReplicated(MLIRContext *context, int64_t rank) {
  return SpecAttr::get(context, SmallVector<ArrayAttr>(rank, ArrayAttr::get(context, {})));
}

SmallVector<StringAttr> SpecAttr::getAxes(int64_t dim) const { return namesOf(getDims()[dim]); }

SmallVector<StringAttr> SpecAttr::getAllAxes() const {
  SmallVector<StringAttr> axes;
  for (ArrayAttr dim : getDims())
    llvm::append_range(axes, dim.getAsRange<StringAttr>());
  Axes result = sorted(axes);
  return SmallVector<StringAttr>(result.begin(), result.end());
}

//===- mesh
//-----------------------------------------------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes, devices;
  if (parser.parseLess() || parseStrings(parser, axes) || parser.parseComma() || parseIntegers(parser, sizes))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parseIntegers(parser, devices))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(parser.getContext(), axes, sizes, devices);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printStrings(printer, getAxes());
  printer << ", ";
  printIntegers(printer, getSizes());
  if (!getDevices().empty()) {
    printer << ", ";
    printIntegers(printer, getDevices());
  }
  printer << '>';
}

LogicalResult MeshAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> sizes, ArrayRef<int64_t>) {
  if (axes.size() != sizes.size())
    return emitError() << "(mesh-1) expected one size for each of " << axes.size() << " axes, got " << sizes.size();
  for (size_t i = 0; i < axes.size(); ++i)
    if (llvm::is_contained(axes.take_front(i), axes[i]))
      return emitError() << "(mesh-2) axis " << axes[i] << " is named twice";
  if (llvm::count(sizes, -1) > 1 || llvm::any_of(sizes, [](int64_t size) { return size != -1 && size < 1; }))
    return emitError() << "(mesh-3) sizes of a mesh must be positive, or -1 for at most one";
  return success();
}

bool MeshAttr::hasAxis(StringRef axis) const {
  return llvm::any_of(getAxes(), [&](StringAttr name) { return name.getValue() == axis; });
}

int64_t MeshAttr::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip_equal(getAxes(), getSizes()))
    if (name.getValue() == axis)
      return size;
  return -1;
}

//===- size_arg
//-------------------------------------------------------------------------------------------------------===//

Attribute SizeArgAttr::parse(AsmParser &parser, Type) {
  StringAttr symbol, label;
  SmallVector<StringAttr> axes;
  if (parser.parseLess() || parseString(parser, symbol) || parser.parseComma() || parseStrings(parser, axes) ||
      parser.parseComma())
    return {};
  bool ragged = succeeded(parser.parseOptionalKeyword("ragged"));
  if ((ragged && parser.parseComma()) || parseString(parser, label) || parser.parseGreater())
    return {};
  return SizeArgAttr::get(parser.getContext(), symbol, axes, ragged, label);
}

void SizeArgAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printString(printer, getSymbol());
  printer << ", ";
  printStrings(printer, getAxes());
  printer << (getRagged() ? ", ragged, " : ", ");
  printString(printer, getLabel());
  printer << '>';
}

//===- dist
//-----------------------------------------------------------------------------------------------------------===//

LogicalResult DistType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, RankedTensorType tensor,
                               SpecAttr spec, MeshAttr mesh) {
  if (spec.getRank() != tensor.getRank())
    return emitError() << "(dist-1) expected a spec of " << tensor.getRank() << " dimensions, got " << spec.getRank();
  for (StringAttr axis : spec.getAllAxes())
    if (!mesh.hasAxis(axis.getValue()))
      return emitError() << "(dist-2) axis " << axis << " is not of the mesh " << mesh;
  for (StringAttr axis : varyOf(tensor))
    if (mesh.hasAxis(axis.getValue()))
      return emitError() << "(dist-3) a distributed value does not vary over its mesh outside of a pmap, got "
                         << tensor;
  return success();
}
