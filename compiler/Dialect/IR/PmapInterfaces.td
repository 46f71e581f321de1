//===- PmapInterfaces.td - Interfaces of the pmap dialect ---------------------------------------------------*- td -*-===//
#ifndef PMAP_INTERFACES_TD
#define PMAP_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOp : OpInterface<"DifferentiableOp"> {
  let cppNamespace = "::pmap";
  let description = [{
    An op with a reverse derivative, and a forward one. Ops with regions are the business of `pmap-transform` itself, because the values
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
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandCotangents)>,
    InterfaceMethod<[{
        Builds the tangents of the results from those of the operands, at the builder's insertion point, where all of the
        op's operands and results may be used. A null tangent is a zero; at least one is given. Appends one value per
        result, null where it is zero or the result is not floating; each has exactly the type of its result.
      }],
      "::llvm::LogicalResult", "pushforward",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$tangents,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$resultTangents),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::mlir::failure();">
  ];
}

def BatchableOp : OpInterface<"BatchableOp"> {
  let cppNamespace = "::pmap";
  let description = [{
    An op that can be done for all rows of a `pmap.vmap` at once (P8). Elementwise ops need no rule: what varies over the
    axis gets one more dimension. Ops without a rule run row by row.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the op for all rows, at the builder's insertion point. `operands` are the op's operands as they are outside of
        the vmap: one whose type in the op varies over the axis has one more dimension, the first, of the batch's size;
        any other is as it was. Sizes are already in terms of the batch's size instead of `@axis`. Appends one value per
        result, by the same rule.
      }],
      "::llvm::LogicalResult", "batch",
      (ins "::mlir::OpBuilder &":$builder, "const ::pmap::Batch &":$batch, "::llvm::ArrayRef<::mlir::Value>":$operands,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
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
