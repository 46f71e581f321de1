//===- PmapCollectiveOps.td - Collectives after which devices hold different values -------------------------*- td -*-===//
#ifndef PMAP_COLLECTIVE_OPS_TD
#define PMAP_COLLECTIVE_OPS_TD

include "compiler/Dialect/IR/PmapParallelOps.td"

def Pmap_ReduceScatterOp : Pmap_CollectiveOp<"reduce_scatter", [Differentiable, Batchable]> {
  let summary = "sums values over the devices along some axes; each gets its own block of the sum";
  let description = [{
    The result is the block, along `dim`, that this device's position (over all axes, major first) or its position in its
    group numbers. Sums of f16 and bf16 travel as f32 (C2).

    ```mlir
    %1 = pmap.reduce_scatter %x over ["a"] dim 0
      : tensor<?xf32, #pmap.layout<["@a*n"], ["a"]>> -> tensor<?xf32, #pmap.layout<["n"], ["a"]>>
    ```

    Constraints: (reduce_scatter-1) axes are named once, and there is one at least; (reduce_scatter-2) `dim` is a dimension of
    the operand; (reduce_scatter-3) the operand's size along `dim` is the result's times the number of devices, or of
    those in a group; (reduce_scatter-4) the result's V is the operand's plus the axes (V4); (reduce_scatter-5) groups are of
    one size, and name no position twice (C3); (reduce_scatter-6) the elements are not `i1` (C2).

    Lifespan: made by Sema, derivatives and the optimisation of collectives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, StrArrayAttr:$axes, I64Attr:$dim, Pmap_Groups:$groups);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `over` $axes `dim` $dim (`groups` $groups^)? attr-dict `:` type($input) `->` type($result)";
}

def Pmap_AllToAllOp : Pmap_CollectiveOp<"all_to_all", [Differentiable, Batchable]> {
  let summary = "every device sends one piece to every other along some axes";
  let description = [{
    The operand is cut along `split` into as many pieces as there are devices (or members of a group); piece k goes to
    device k, and the pieces that a device receives are put together along `concat` in the order of their senders.

    ```mlir
    %1 = pmap.all_to_all %x over ["a"] split 0 concat 1
      : tensor<?x?xf32, #pmap.layout<["@a*n", "m"], ["a"]>> -> tensor<?x?xf32, #pmap.layout<["n", "@a*m"], ["a"]>>
    ```

    Constraints: (all_to_all-1) axes are named once, and there is one at least; (all_to_all-2) `split` and `concat` are
    dimensions of the operand; (all_to_all-3) the result's size is the operand's divided by the number of devices along
    `split`, and times it along `concat` (the same where both are one dimension); (all_to_all-4) the result's V is the
    operand's plus the axes (V4); (all_to_all-5) groups are of one size, and name no position twice (C3).

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, StrArrayAttr:$axes, I64Attr:$split, I64Attr:$concat, Pmap_Groups:$groups);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $input `over` $axes `split` $split `concat` $concat (`groups` $groups^)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Pmap_PermuteOp : Pmap_CollectiveOp<"permute", [Differentiable, Batchable]> {
  let summary = "every device sends its value to another along some axes";
  let description = [{
    `destinations` says, for each position over all axes (major first), where its value goes; -1 is nowhere. A device
    that receives nothing gets `fill`. A destination that is named twice or is no position is a run-time error (C3);
    Sema reports those it can see. `ppermute`, `shift` and `halo` are made of it.

    ```mlir
    %1 = pmap.permute %x to %destinations fill %zero over ["a"]
      : tensor<3xf32, #pmap.layout<["3"], ["a"]>>, tensor<?xi32, #pmap.layout<["@a"], []>>, tensor<f32>
    ```

    Constraints: (permute-1) axes are named once, and there is one at least; (permute-2) `destinations` is a vector of i32, one
    for each device along the axes (a literal number of them is checked at run time), that does not vary over them; (permute-3) `fill` is a scalar of the operand's element
    type; (permute-4) the result is the operand's type, its V plus the axes and the V of the other operands (V4).

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Pmap_Tensor:$destinations, Pmap_Tensor:$fill, StrArrayAttr:$axes);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $input `to` $destinations `fill` $fill `over` $axes attr-dict `:` type($input) `,` type($destinations) `,` type($fill) `->` type($result)
  }];
}

#endif
