//===- PmapParallelOps.td - Meshes, movement and collectives ------------------------------------------------*- td -*-===//
#ifndef PMAP_PARALLEL_OPS_TD
#define PMAP_PARALLEL_OPS_TD

include "compiler/Dialect/IR/PmapOpBase.td"

defvar Pmap_Groups = OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "groups of positions">>;

def Pmap_MapOp : Pmap_Op<"map", [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">,
    AttrSizedOperandSegments]> {
  let summary = "runs a region once per device of a mesh, each on its own blocks (P1)";
  let description = [{
    The first operands, `sizes`, are index values of the whole; `size_args` says how each enters the region (P3). The
    others are distributed values; how each is split is in its type, and what the region sees is its block (P2). The
    region's arguments are the local sizes, then the blocks; it yields the blocks of the results, whose types say how
    blocks make up the whole (P4).

    ```mlir
    %1 = pmap.map #pmap.mesh<["data"], [-1]> sizes (%n) [#pmap.size_arg<"n.1", ["data"], "argument 'x', dimension 0">]
        (%x) : (!pmap.dist<…>) -> (!pmap.dist<…>) {
    ^bb0(%n1: index, %block: tensor<?xf32, #pmap.layout<["n.1"], ["data"]>>):
      pmap.yield %block : tensor<?xf32, #pmap.layout<["n.1"], ["data"]>>
    }
    ```

    Constraints: (map-1) there is one size argument per size operand; (map-2) every dist type is over the op's mesh; (map-3)
    the region's arguments are as many indices as sizes, then one tensor per input, of its element type and rank, whose V
    is the axes of its spec (V1) and the vmap axes of the input; (map-4) the region yields one tensor per result, of its element type and rank; (map-5) the
    V of a yielded tensor is within the axes of the result's spec and its vmap axes: `out: _` needs invariance (V7); (map-6) a map is not
    within a map (P1); (map-7) size arguments name axes of the mesh.

    Lifespan: made by Sema and `pmap-transform`; removed by PmapToLinalg, which outlines the region.
  }];
  let arguments = (ins Pmap_MeshAttr:$mesh, Variadic<Index>:$sizes, TypedArrayAttrBase<Pmap_SizeArgAttr, "size arguments">:$size_args,
                       Variadic<Pmap_Dist>:$inputs);
  let results = (outs Variadic<Pmap_Dist>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $mesh `sizes` `(` $sizes `)` $size_args `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [
    // Makes the block with its arguments (local sizes, then blocks of the given types), without a terminator.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::pmap::MeshAttr":$mesh, "::mlir::ValueRange":$sizes,
                   "::llvm::ArrayRef<::pmap::SizeArgAttr>":$sizeArgs, "::mlir::ValueRange":$inputs,
                   "::mlir::TypeRange":$blocks)>
  ];
  let extraClassDeclaration = [{
    /// How each input and each result is split; read from their types.
    ::llvm::SmallVector<::pmap::SpecAttr> getInSpecs();
    ::llvm::SmallVector<::pmap::SpecAttr> getOutSpecs();
    /// The size argument of each `sizes` operand.
    ::llvm::SmallVector<::pmap::SizeArgAttr> getSizeArguments();
    /// The region's arguments: the local sizes, then the blocks.
    ::mlir::Block::BlockArgListType getLocalSizes() { return getBody().front().getArguments().take_front(getSizes().size()); }
    ::mlir::Block::BlockArgListType getBlocks() { return getBody().front().getArguments().drop_front(getSizes().size()); }
  }];
}

def Pmap_MoveOp : Pmap_Op<"move", [NoMemoryEffect, Differentiable]> {
  let summary = "moves a value between the host and the devices of a mesh, or between splits (P5)";
  let description = [{
    Every movement is one of these. A tensor that becomes a distributed value is split or replicated; the other way it is
    gathered. Splitting a size that does not divide gives the first devices one more (P3 is checked by `pmap.map`).

    ```mlir
    %1 = pmap.move %x : tensor<8xf32> to !pmap.dist<tensor<8xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>
    ```

    Constraints: (move-1) one side at least is distributed; (move-2) the tensor types agree.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_TensorOrDist:$input);
  let results = (outs Pmap_TensorOrDist:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

def Pmap_ShardsOp : Pmap_Op<"shards", [NoMemoryEffect, Differentiable]> {
  let summary = "a distributed value of blocks that are already apart (P6)";
  let description = [{
    As many blocks as devices, in rank order.

    ```mlir
    %1 = pmap.shards %a, %b : (tensor<3xf32>, tensor<2xf32>) -> !pmap.dist<tensor<5xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
    ```

    Constraints: (shards-1) the result is split over one axis in one dimension; (shards-2) blocks agree off that dimension,
    and their sizes along it add up to the whole.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Variadic<Pmap_Tensor>:$blocks);
  let results = (outs Pmap_Dist:$result);
  let assemblyFormat = "$blocks attr-dict `:` functional-type($blocks, $result)";
}

def Pmap_ToShardsOp : Pmap_Op<"to_shards", [NoMemoryEffect, Differentiable]> {
  let summary = "the blocks of a distributed value, in rank order (P6)";
  let description = [{
    ```mlir
    %a, %b = pmap.to_shards %x : (!pmap.dist<…>) -> (tensor<3xf32>, tensor<2xf32>)
    ```

    Constraints: (to_shards-1) the operand is split over one axis in one dimension; (to_shards-2) there is one result per
    device of a mesh of literal size; (to_shards-3) results have the operand's element type and rank, and V with no axis of the mesh.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Dist:$input);
  let results = (outs Variadic<Pmap_Tensor>:$blocks);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $blocks)";
}

def Pmap_WidenOp : Pmap_PureOp<"widen", [Differentiable, Batchable]> {
  let summary = "the same value, of a type that may vary over more axes (V2)";
  let description = [{
    Costs nothing at run time. Its derivative is the sum over the added axes (G2).

    ```mlir
    %1 = pmap.widen %x : tensor<f32> to tensor<f32, #pmap.layout<[], ["data"]>>
    ```

    Constraints: (widen-1) sizes and element type stay; (widen-2) the operand's V is within the result's.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let builders = [
    // Widens by `axes`.
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mlir::StringAttr>":$axes)>
  ];
  let hasFolder = 1;
}

def Pmap_AllReduceOp : Pmap_CollectiveOp<"all_reduce", [Differentiable, Batchable]> {
  let summary = "combines values over the devices along some axes; all get the result";
  let description = [{
    Several operands are one fused collective (C4). `mean` divides by the number of devices, or of a group. With
    `groups`, positions along the axes, major first, are partitioned and each group combines its own (C3). Sums of f16 and bf16
    travel as f32 (C2).

    ```mlir
    %1 = pmap.all_reduce sum (%x) over ["data"] : (tensor<f32, #pmap.layout<[], ["data"]>>) -> tensor<f32>
    ```

    Constraints: (all_reduce-1) the kind is `sum`, `mean`, `prod`, `max`, `min`, `maxu` or `minu`; (all_reduce-2) axes are
    named once, and there is one at least; (all_reduce-3) there is an operand, and one result for each; (all_reduce-4) a
    result is its operand's type with V minus the axes, with groups plus the axes (V3); (all_reduce-5) groups name
    no position twice (C3); (all_reduce-6) the elements are not `i1` (C2).

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_ReductionKindAttr:$kind, Variadic<Pmap_Tensor>:$inputs, StrArrayAttr:$axes,
                       Pmap_Groups:$groups);
  let results = (outs Variadic<Pmap_Tensor>:$results);
  let assemblyFormat = [{
    $kind `(` $inputs `)` `over` $axes (`groups` $groups^)? attr-dict `:` functional-type($inputs, $results)
  }];
  let builders = [
    OpBuilder<(ins "::pmap::ReductionKind":$kind, "::mlir::ValueRange":$inputs, "::llvm::ArrayRef<::mlir::StringAttr>":$axes,
                   CArg<"::mlir::ArrayAttr", "{}">:$groups)>
  ];
}

def Pmap_AllGatherOp : Pmap_CollectiveOp<"all_gather", [Differentiable, Batchable]> {
  let summary = "the blocks of all devices along some axes, on all of them";
  let description = [{
    `tiled` concatenates along `dim`; otherwise the blocks are stacked along a new dimension `dim`. Blocks are in the order
    of positions over all axes, major first, or in that in which a group names its members.

    ```mlir
    %1 = pmap.all_gather %x over ["a"] dim 0 tiled
      : tensor<?xf32, #pmap.layout<["n"], ["a"]>> -> tensor<?xf32, #pmap.layout<["@a*n"], []>>
    ```

    Constraints: (all_gather-1) `dim` is a dimension of the result; (all_gather-2) the result's size along `dim` is the
    operand's times the number of devices, or of those in a group, or that number; (all_gather-3) the result's V is the
    operand's minus the axes, with groups plus the axes (V3); (all_gather-4) axes are named once, and there is one at least;
    (all_gather-5) groups are of one size, and name no position twice (C3).

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim, UnitAttr:$tiled, Pmap_Groups:$groups);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $input `over` $axes `dim` $dim (`tiled` $tiled^)? (`groups` $groups^)? attr-dict `:` type($input) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mlir::StringAttr>":$axes, "int64_t":$dim, "bool":$tiled,
                   CArg<"::mlir::ArrayAttr", "{}">:$groups)>
  ];
}

def Pmap_AxisIndexOp : Pmap_PureOp<"axis_index", [Batchable]> {
  let summary = "this device's position along an axis";
  let description = [{
    ```mlir
    %1 = pmap.axis_index "data" : tensor<i32, #pmap.layout<[], ["data"]>>
    ```

    Constraint: (axis_index-1) the result is a scalar of i32 with V = {axis} (V1).

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::StringRef":$axis)>];
}

def Pmap_AxisSizeOp : Pmap_PureOp<"axis_size"> {
  let summary = "the number of devices along an axis";
  let description = [{
    ```mlir
    %1 = pmap.axis_size "data"
    ```

    Constraint: (axis_size-1) the axis is a name.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
}

#endif
