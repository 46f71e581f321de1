#include "compiler/Sema/ProgramSignature.h"

#include "mlir/IR/Builders.h"

namespace pmap {
namespace {

constexpr llvm::StringLiteral attributeName = "pmap.signature";

mlir::ArrayAttr toAttr(mlir::Builder &b, const std::vector<SignatureLeaf> &leaves) {
  llvm::SmallVector<mlir::Attribute> attributes;
  for (const SignatureLeaf &leaf : leaves) {
    llvm::SmallVector<mlir::Attribute> sizes;
    for (const std::string &size : leaf.sizes)
      sizes.push_back(b.getStringAttr(size));
    llvm::SmallVector<mlir::NamedAttribute> fields = {b.getNamedAttr("name", b.getStringAttr(leaf.name)),
                                                      b.getNamedAttr("dtype", b.getStringAttr(dtypeName(leaf.dtype))),
                                                      b.getNamedAttr("sizes", b.getArrayAttr(sizes))};
    if (leaf.defaultText)
      fields.push_back(b.getNamedAttr("default", b.getStringAttr(*leaf.defaultText)));
    if (!leaf.doc.empty())
      fields.push_back(b.getNamedAttr("doc", b.getStringAttr(leaf.doc)));
    attributes.push_back(b.getDictionaryAttr(fields));
  }
  return b.getArrayAttr(attributes);
}

std::string textOf(mlir::DictionaryAttr dictionary, llvm::StringRef name) {
  auto text = dictionary.getAs<mlir::StringAttr>(name);
  return text ? text.getValue().str() : std::string();
}

std::vector<std::string> textsOf(mlir::DictionaryAttr dictionary, llvm::StringRef name) {
  std::vector<std::string> texts;
  if (auto array = dictionary.getAs<mlir::ArrayAttr>(name))
    for (auto text : array.getAsRange<mlir::StringAttr>())
      texts.push_back(text.getValue().str());
  return texts;
}

std::vector<SignatureLeaf> leavesOf(mlir::DictionaryAttr dictionary, llvm::StringRef name) {
  std::vector<SignatureLeaf> leaves;
  auto array = dictionary.getAs<mlir::ArrayAttr>(name);
  if (!array)
    return leaves;
  for (auto fields : array.getAsRange<mlir::DictionaryAttr>()) {
    SignatureLeaf leaf{textOf(fields, "name"), parseDType(textOf(fields, "dtype")).value_or(DType::F32),
                       textsOf(fields, "sizes"), std::nullopt, textOf(fields, "doc")};
    if (fields.contains("default"))
      leaf.defaultText = textOf(fields, "default");
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

} // namespace

void setSignature(mlir::func::FuncOp function, const ProgramSignature &signature) {
  mlir::Builder b(function.getContext());
  llvm::SmallVector<mlir::Attribute> symbols;
  for (const std::string &symbol : signature.symbols)
    symbols.push_back(b.getStringAttr(symbol));
  function->setAttr(attributeName,
                    b.getDictionaryAttr({
                        b.getNamedAttr("kind", b.getI32IntegerAttr(static_cast<int32_t>(signature.kind))),
                        b.getNamedAttr("name", b.getStringAttr(signature.name)),
                        b.getNamedAttr("declaration", b.getStringAttr(signature.declaration)),
                        b.getNamedAttr("doc", b.getStringAttr(signature.doc)),
                        b.getNamedAttr("symbols", b.getArrayAttr(symbols)),
                        b.getNamedAttr("parameters", toAttr(b, signature.parameters)),
                        b.getNamedAttr("results", toAttr(b, signature.results)),
                        b.getNamedAttr("parallel", b.getBoolAttr(signature.isParallel)),
                    }));
}

std::optional<ProgramSignature> getSignature(mlir::func::FuncOp function) {
  auto dictionary = function->getAttrOfType<mlir::DictionaryAttr>(attributeName);
  if (!dictionary)
    return std::nullopt;
  ProgramSignature signature;
  if (auto kind = dictionary.getAs<mlir::IntegerAttr>("kind"))
    signature.kind = static_cast<EntryKind>(kind.getInt());
  signature.name = textOf(dictionary, "name");
  signature.declaration = textOf(dictionary, "declaration");
  signature.doc = textOf(dictionary, "doc");
  signature.symbols = textsOf(dictionary, "symbols");
  signature.parameters = leavesOf(dictionary, "parameters");
  signature.results = leavesOf(dictionary, "results");
  if (auto parallel = dictionary.getAs<mlir::BoolAttr>("parallel"))
    signature.isParallel = parallel.getValue();
  return signature;
}

} // namespace pmap
