//===- PmapAttrs.td - Attributes of the pmap dialect --------------------------------------------------------*- td -*-===//
#ifndef PMAP_ATTRS_TD
#define PMAP_ATTRS_TD

include "compiler/Dialect/IR/PmapDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Pmap_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Pmap_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Pmap_ReductionKind : I32EnumAttr<"ReductionKind", "how values are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Mean", 2, "mean">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">, I32EnumAttrCase<"MaxU", 5, "maxu">,
    I32EnumAttrCase<"MinU", 6, "minu">, I32EnumAttrCase<"And", 7, "and">, I32EnumAttrCase<"Or", 8, "or">]> {
  let cppNamespace = "::pmap";
  let genSpecializedAttr = 0;
}
def Pmap_ReductionKindAttr : EnumAttr<Pmap_Dialect, Pmap_ReductionKind, "reduction"> {
  let assemblyFormat = "`` $value";
}

def Pmap_LayoutAttr : Pmap_Attr<"Layout", "layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the sizes and the variance of a tensor";
  let description = [{
    The encoding of every tensor that has a size not known at compile time or that varies over a mesh axis.
    `sizes` holds one size polynomial in normal form per dimension, `vary` is V, the sorted axes over which the value
    may differ between devices.

    ```mlir
    tensor<?x10xf32, #pmap.layout<["n", "10"], ["data"]>>
    tensor<f32, #pmap.layout<[], ["data"]>>
    tensor<3xf32>
    ```

    Constraints:
    - (layout-1) there is one size per dimension;
    - (layout-2) a dimension is static exactly when its size is a constant, and the two agree;
    - (layout-3) the encoding is absent exactly when every dimension is static and V is empty;
    - (layout-4) V is sorted and holds no axis twice;
    - (layout-5) every size is a polynomial in normal form.

    Build types through `pmap::makeTensorType` and read them through `pmap::sizesOf` and `pmap::varyOf`.
    Lifespan: made by Sema and the transforms, stripped by PmapToLinalg.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$sizes, ArrayRefParameter<"::mlir::StringAttr">:$vary);
  let hasCustomAssemblyFormat = 1;
}

def Pmap_SpecAttr : Pmap_Attr<"Spec", "spec"> {
  let summary = "how an array is split over a mesh (P2)";
  let description = [{
    One list of axes per dimension, major first; an empty list means that the dimension is not split. A value is
    replicated over every axis that no dimension names.

    ```mlir
    #pmap.spec<[["data"], []]>
    ```

    Constraint: (spec-1) no axis is used twice.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::ArrayAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A spec that splits nothing, of the given rank.
    static SpecAttr getReplicated(::mlir::MLIRContext *context, int64_t rank);
    int64_t getRank() const { return getDims().size(); }
    /// The axes dimension `dim` is split over, major first.
    ::llvm::SmallVector<::mlir::StringAttr> getAxes(int64_t dim) const;
    /// All axes of all dimensions, sorted: the variance V of a block (V1).
    ::llvm::SmallVector<::mlir::StringAttr> getAllAxes() const;
    bool isReplicated() const { return getAllAxes().empty(); }
  }];
}

def Pmap_MeshAttr : Pmap_Attr<"Mesh", "mesh"> {
  let summary = "a named mesh of devices (P1)";
  let description = [{
    The names of the axes and their sizes, row-major. At most one size is -1: what the number of devices at run time leaves.
    `devices`, when it is not empty, lists the devices that take part.

    ```mlir
    #pmap.mesh<["a", "b"], [2, -1]>
    #pmap.mesh<["a"], [2], [0, 2]>
    ```

    Constraints: (mesh-1) there is one size per axis; (mesh-2) axes are named once; (mesh-3) sizes are positive, or -1
    for at most one.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, ArrayRefParameter<"int64_t">:$sizes,
                        OptionalArrayRefParameter<"int64_t">:$devices);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasAxis(::llvm::StringRef axis) const;
    /// The size of `axis`, -1 when it is open.
    int64_t getSize(::llvm::StringRef axis) const;
  }];
}

def Pmap_SizeArgAttr : Pmap_Attr<"SizeArg", "size_arg"> {
  let summary = "how a size enters a `pmap.map`";
  let description = [{
    `symbol` is the size's name inside the region. Its value is the operand's, divided by the sizes of `axes`; with no
    axes it is the same on every device. `ragged` allows a remainder (P3): the first devices have one more.
    `label` is the subject of the message that a size that does not divide gets.

    ```mlir
    #pmap.size_arg<"n.1", ["data"], ragged, "argument 'x', dimension 0">
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$symbol, ArrayRefParameter<"::mlir::StringAttr">:$axes, "bool":$ragged,
                        "::mlir::StringAttr":$label);
  let hasCustomAssemblyFormat = 1;
}

#endif
