//===- PmapInterfaces.td - Interfaces of the pmap dialect ---------------------------------------------------*- td -*-===//
#ifndef PMAP_INTERFACES_TD
#define PMAP_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOp : OpInterface<"DifferentiableOp"> {
  let cppNamespace = "::pmap";
  let description = [{
    An op with a reverse derivative. Ops with regions are the business of `pmap-differentiate` itself, because the values
    they capture get cotangents too.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands from those of the results, at the builder's insertion point, where all of
        the op's operands and results may be used. A null cotangent is a zero; at least one is given. Appends one value
        per operand to `operandCotangents`, null where it is zero or the operand is not floating; each has exactly the
        type of its operand (G2).
      }],
      "::llvm::LogicalResult", "pullback",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandCotangents)>
  ];
}

def CollectiveOp : OpInterface<"CollectiveOp"> {
  let cppNamespace = "::pmap";
  let description = [{
    An op that every device along its axes must reach (V6, V9).
  }];
  let methods = [
    InterfaceMethod<"The mesh axes over which the devices meet.",
      "::llvm::SmallVector<::mlir::StringAttr>", "getCollectiveAxes">
  ];
}

#endif
