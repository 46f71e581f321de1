// Builders, text forms and verifiers of for_each and grad.
#include "compiler/Dialect/IR/VerifyHelpers.h"

using namespace mlir;
using namespace pmap;

//===- for_each
//-------------------------------------------------------------------------------------------------------===//

void ForEachOp::build(OpBuilder &builder, OperationState &state, TypeRange results, ValueRange bounds) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(bounds);
  state.addTypes(results);
  Block *block = builder.createBlock(state.addRegion());
  for (Value bound : bounds)
    block->addArgument(bound.getType(), state.location);
}

// (%i, %j) in (%n, %m) {attributes} { body } : types
ParseResult ForEachOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> indices;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("in") ||
      parser.parseOperandList(bounds, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (OpAsmParser::Argument &argument : indices)
    argument.type = index;
  if (parser.resolveOperands(bounds, index, result.operands) || parser.parseRegion(*result.addRegion(), indices) ||
      parser.parseOptionalColonTypeList(result.types))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(), result.location);
  return success();
}

void ForEachOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer);
  printer << ") in (" << getBounds() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  if (getNumResults())
    printer << " : " << getResultTypes();
}

LogicalResult ForEachOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getBounds().size() ||
      !llvm::all_of(block.getArgumentTypes(), [](Type type) { return type.isIndex(); }))
    return emitOpError() << "(for_each-1) expected " << getBounds().size() << " index arguments";
  Operation *yield = block.getTerminator();
  if (yield->getNumOperands() != getNumResults())
    return emitOpError() << "(for_each-2) expected " << getNumResults() << " yielded values, got "
                         << yield->getNumOperands();
  size_t rank = getBounds().size();
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), getResults())) {
    auto body = dyn_cast<RankedTensorType>(value.getType());
    RankedTensorType whole = tensorType(result);
    if (!body)
      return emitOpError() << "(for_each-2) expected a tensor, got " << value.getType();
    SmallVector<Size> sizes = sizesOf(whole);
    if (sizes.size() < rank || withSizes(body, ArrayRef(sizes).drop_front(rank)) != body ||
        withSizes(body, sizes) != whole)
      return emitOpError() << "(for_each-3) a body of type " << body << " cannot give a result of type " << whole;
  }
  return success();
}

//===- grad
//-----------------------------------------------------------------------------------------------------------===//

void GradOp::build(OpBuilder &builder, OperationState &state, TypeRange results, ValueRange inputs,
                   ArrayRef<int64_t> wrt) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(inputs);
  state.addTypes(results);
  state.getOrAddProperties<Properties>().wrt = builder.getDenseI64ArrayAttr(wrt);
  Block *block = builder.createBlock(state.addRegion());
  for (Value input : inputs)
    block->addArgument(input.getType(), input.getLoc());
}

// (%x as %a : type, ...) wrt [positions] {attributes} { body } : types
ParseResult GradOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseInput = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    OpAsmParser::Argument &argument = arguments.emplace_back();
    return failure(parser.parseOperand(operand) || parser.parseKeyword("as") || parser.parseArgument(argument) ||
                   parser.parseColonType(argument.type) ||
                   parser.resolveOperand(operand, argument.type, result.operands));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput) || parser.parseKeyword("wrt"))
    return failure();
  Attribute positions = DenseI64ArrayAttr::parse(parser, {});
  if (!positions || parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments) || parser.parseOptionalColonTypeList(result.types))
    return failure();
  result.getOrAddProperties<Properties>().wrt = cast<DenseI64ArrayAttr>(positions);
  ensureTerminator(*result.regions.front(), parser.getBuilder(), result.location);
  return success();
}

void GradOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(llvm::zip_equal(getInputs(), getBody().getArguments()), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " as " << std::get<1>(pair) << " : " << std::get<0>(pair).getType();
  });
  printer << ") wrt [" << getWrt() << "]";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"wrt"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  if (getNumResults())
    printer << " : " << getResultTypes();
}

LogicalResult GradOp::verify() {
  Block &block = getBody().front();
  if (TypeRange(block.getArgumentTypes()) != TypeRange(getInputs().getTypes()))
    return emitOpError() << "(grad-1) the region's arguments must have the operands' types";
  auto isFloating = [](Type type) {
    if (auto dist = dyn_cast<DistType>(type))
      type = dist.getTensor();
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  };
  Operation *yield = block.getTerminator();
  Type value = yield->getNumOperands() ? yield->getOperand(0).getType() : Type();
  if (!value || !isFloating(value) || !isa<RankedTensorType>(value) || cast<RankedTensorType>(value).getRank() != 0)
    return emitOpError() << "(grad-2) expected a floating scalar as the first yielded value (G1)";
  SmallVector<Type> results(yield->getOperandTypes());
  for (auto [i, position] : llvm::enumerate(getWrt())) {
    if (position < 0 || position >= static_cast<int64_t>(getInputs().size()) ||
        llvm::is_contained(getWrt().take_front(i), position) || !isFloating(getInputs()[position].getType()))
      return emitOpError() << "(grad-3) wrt must name floating operands, each once; got [" << getWrt() << "]";
    Type input = getInputs()[position].getType();
    results.push_back(input);
    if (isa<RankedTensorType>(input) && !isSubset(varyOf(value), varyOf(input)))
      return emitOpError() << "(grad-5) a value of type " << value << " needs wrt operands that vary as much (G1), got "
                           << input;
  }
  if (TypeRange(results) != TypeRange(getResultTypes()))
    return emitOpError() << "(grad-4) expected results of types " << results;
  return success();
}
