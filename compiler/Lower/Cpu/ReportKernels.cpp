#include "compiler/Lower/Cpu/ReportKernels.h"
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace pmap {
namespace {

// How users write an operation of a kernel's body; "" for what they do not write, such as conversions of indices.
std::string nameOf(Operation *op) {
  if (isa<math::MathDialect>(op->getDialect()))
    return op->getName().stripDialect().str();
  return llvm::StringSwitch<std::string>(op->getName().stripDialect())
      .Cases({"addf", "addi"}, "+")
      .Cases({"subf", "subi", "negf"}, "-")
      .Cases({"mulf", "muli"}, "*")
      .Cases({"divf"}, "/")
      .Cases({"divsi", "divui", "floordivsi"}, "//")
      .Cases({"remsi", "remui", "remf"}, "%")
      .Cases({"cmpf", "cmpi"}, "compare")
      .Case("select", "where")
      .Cases({"maximumf", "maxnumf", "maxsi", "maxui"}, "maximum")
      .Cases({"minimumf", "minnumf", "minsi", "minui"}, "minimum")
      .Case("andi", "and")
      .Case("ori", "or")
      .Case("xori", "xor")
      .Cases({"shli", "shrsi", "shrui"}, "shift")
      .Cases({"sitofp", "uitofp", "fptosi", "fptoui", "extf", "truncf", "extsi", "extui", "trunci"}, "convert")
      .Default("");
}

unsigned lineOf(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  return place ? place.getLine() : 0;
}

// A shape on plain buffers, whose sizes have no names any more.
std::string shapeText(MemRefType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType();
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    os << (i ? ", " : "[");
    if (ShapedType::isDynamic(size))
      os << "?";
    else
      os << size;
  }
  os << (type.getRank() ? "]" : "");
  return text;
}

void reportKernel(Cluster &cluster) {
  llvm::MapVector<unsigned, SetVector<StringRef>> byLine;
  std::vector<std::unique_ptr<std::string>> names;
  unsigned count = 0;
  bool product = false;
  for (linalg::GenericOp op : cluster.ops) {
    bool isProduct = linalg::isaContractionOpInterface(cast<linalg::LinalgOp>(*op)) && op.getNumReductionLoops() > 0;
    product |= isProduct;
    if (isProduct) {
      byLine[lineOf(op.getLoc())].insert("@");
      ++count;
      continue;
    }
    for (Operation &inner : op.getBody()->without_terminator()) {
      std::string name = nameOf(&inner);
      if (name.empty())
        continue;
      names.push_back(std::make_unique<std::string>(std::move(name)));
      byLine[lineOf(inner.getLoc())].insert(*names.back());
      ++count;
    }
  }
  if (count == 0)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (count == 1 ? "one operation: " : std::to_string(count) + " operations: ");
  bool first = true;
  for (auto &[line, list] : byLine) {
    os << (first ? "" : "; ");
    first = false;
    llvm::interleave(list, os, ", ");
    if (line)
      os << " (line " << line << ")";
  }
  linalg::GenericOp last = cluster.ops.back();
  if (last.getNumReductionLoops() > 0 && !product)
    os << ", summed up over " << (last.getNumParallelLoops() ? "a dimension" : "all elements");
  stateFact(last.getLoc(), fact::kKernel, text);
}

} // namespace

void reportKernels(MutableArrayRef<Cluster> clusters) {
  if (clusters.empty() || !factsWanted(clusters.front().ops.front()->getContext()))
    return;
  for (Cluster &cluster : clusters)
    reportKernel(cluster);
}

void reportCopies(func::FuncOp function) {
  if (!factsWanted(function.getContext()))
    return;
  function.walk([](memref::CopyOp copy) {
    auto type = cast<MemRefType>(copy.getTarget().getType());
    std::string bytes;
    if (type.hasStaticShape())
      bytes = std::to_string(type.getNumElements() * std::max(1u, type.getElementTypeBitWidth() / 8));
    stateFact(copy.getLoc(), fact::kCopy, shapeText(type) + " is copied, since both the old and the new value are read",
              bytes);
  });
}

} // namespace pmap
