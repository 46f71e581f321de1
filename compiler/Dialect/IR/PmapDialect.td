//===- PmapDialect.td - The pmap dialect -------------------------------------------------------------------*- td -*-===//
#ifndef PMAP_DIALECT_TD
#define PMAP_DIALECT_TD

include "mlir/IR/OpBase.td"

def Pmap_Dialect : Dialect {
  let name = "pmap";
  let cppNamespace = "::pmap";
  let summary = "Arrays with symbolic sizes, device variance, differentiation and collectives";
  let description = [{
    The dialect holds the whole meaning of a Pmap program between Sema, which makes it, and `Lower`, which removes it.
    It is closed under `grad` and `vmap`: the rules of every op emit ops of this dialect, `arith`, `math` and `scf` only.

    Every array is a ranked tensor, a scalar one of rank 0. The tensor's encoding, `#pmap.layout`, says what a shape
    alone does not: the size polynomial of each dimension, and V, the mesh axes over which the value may differ between
    devices. `index` is for sizes, indices and trip counts, `i1` for conditions of `scf`. Elementwise operations are
    `arith` and `math` on operands of one and the same type, so that adding an array of size n to one of size m, or a
    varying value to an invariant one, is rejected by the type system alone.

    **Constraints.** Verifiers cite numbers. (V1) to (V10), (P1) to (P9), (C1) to (C5) and (G1) to (G6) are the rules of
    docs/semantics.md. A number that begins with an op's name, such as (reduce-2), is listed in that op's description.

    **Effects.** Collectives read and write the `CommResource` and are not speculatable: none may be moved into or out
    of a branch, nor past another, by a generic pass. Ops that check their input at run time have no memory effect but
    are not speculatable: they may be merged or, when unused, dropped, but never executed where they were not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

#endif
