//===- PmapTypes.td - Types of the pmap dialect -------------------------------------------------------------*- td -*-===//
#ifndef PMAP_TYPES_TD
#define PMAP_TYPES_TD

include "compiler/Dialect/IR/PmapAttrs.td"

class Pmap_Type<string name, string typeMnemonic> : TypeDef<Pmap_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Pmap_DistType : Pmap_Type<"Dist", "dist"> {
  let summary = "a value distributed over a mesh (P5)";
  let description = [{
    The type of the whole value, how it is split, and over which mesh. The sizes of the tensor type are the whole's; its V
    holds axes of vmaps only, for outside a pmap nothing varies over the mesh.

    ```mlir
    !pmap.dist<tensor<?x10xf32, #pmap.layout<["n", "10"], []>>, #pmap.spec<[["data"], []]>, #pmap.mesh<["data"], [-1]>>
    ```

    Constraints: (dist-1) the spec has one entry per dimension; (dist-2) the spec's axes are axes of the mesh;
    (dist-3) V holds no axis of the mesh.
  }];
  let parameters = (ins TypeParameter<"::mlir::RankedTensorType", "the whole value">:$tensor, "::pmap::SpecAttr":$spec,
                        "::pmap::MeshAttr":$mesh);
  let assemblyFormat = "`<` $tensor `,` $spec `,` $mesh `>`";
  let genVerifyDecl = 1;
}

def Pmap_ResidualsType : Pmap_Type<"Residuals", "residuals"> {
  let summary = "what the pullbacks of one pmap.vjp share";
  let description = "A token; it holds nothing and ties a `pmap.pullback` to its `pmap.vjp`.";
}

// A dynamic dimension has a size polynomial in the layout, or there is nothing to compare it by.
def Pmap_Tensor : Type<And<[AnyRankedTensor.predicate, CPred<"::pmap::hasKnownSizes($_self)">]>,
    "ranked tensor whose sizes are known", "::mlir::RankedTensorType">;
def Pmap_Dist : TypeAlias<Pmap_DistType, "value distributed over a mesh">;
def Pmap_TensorOrDist : AnyTypeOf<[Pmap_Tensor, Pmap_DistType]>;
def Pmap_TensorOrResiduals : AnyTypeOf<[Pmap_Tensor, Pmap_ResidualsType]>;
def Pmap_Any : AnyTypeOf<[Pmap_Tensor, Pmap_DistType, Index, I1]>;

#endif
