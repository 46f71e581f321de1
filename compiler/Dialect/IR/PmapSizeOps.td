//===- PmapSizeOps.td - Sizes, and the doors between tensors and scf ----------------------------------------*- td -*-===//
#ifndef PMAP_SIZE_OPS_TD
#define PMAP_SIZE_OPS_TD

include "compiler/Dialect/IR/PmapOpBase.td"

def Pmap_SizeOp : Pmap_PureOp<"size"> {
  let summary = "the value of a size polynomial";
  let description = [{
    Symbols are bound by the arguments of the function (attribute `pmap.sizes`), of `pmap.map`, or by `pmap.bind_size`;
    `@a` is the size of mesh axis a.

    ```mlir
    %n = pmap.size "@data*n"
    ```

    Constraint: (size-1) the text is a polynomial in normal form.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins StrAttr:$size);
  let results = (outs Index:$result);
  let assemblyFormat = "$size attr-dict";
  let hasFolder = 1;
}

def Pmap_BindSizeOp : Pmap_Op<"bind_size", [MemoryEffects<[MemWrite<Pmap_SymbolResource>]>]> {
  let summary = "makes an index value a size symbol";
  let description = [{
    From here on `symbol` may stand in types. A negative value is a run-time error. Each execution binds the symbol anew;
    values whose types name it do not leave the block.

    ```mlir
    %k = pmap.bind_size %i as "k"
    ```

    Constraint: (bind_size-1) the symbol is a name.

    Lifespan: made by Sema, for integers used as sizes, and by `pmap-transform`, for trip counts; removed by
    PmapToLinalg.
  }];
  let arguments = (ins Index:$value, StrAttr:$symbol);
  let results = (outs Index:$result);
  let assemblyFormat = "$value `as` $symbol attr-dict";
}

def Pmap_ToIndexOp : Pmap_PureOp<"to_index"> {
  let summary = "an integer scalar as an index";
  let description = [{
    ```mlir
    %i = pmap.to_index %x : tensor<i32>
    ```

    Constraint: (to_index-1) the operand is a scalar integer. `is_unsigned` extends with zeros.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, UnitAttr:$is_unsigned);
  let results = (outs Index:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Pmap_FromIndexOp : Pmap_CheckedOp<"from_index"> {
  let summary = "an index as a scalar of any dtype";
  let description = [{
    A value that does not fit an integer dtype is a run-time error. The result's V is the union of what the index was
    computed from; `pmap-check-variance` checks it.

    ```mlir
    %x = pmap.from_index %i : tensor<f32>
    ```

    Constraint: (from_index-1) the result is a scalar integer or float. `is_unsigned` gives the range of the unsigned
    dtype.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Index:$index, UnitAttr:$is_unsigned);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Pmap_ToBoolOp : Pmap_PureOp<"to_bool"> {
  let summary = "a boolean scalar as a condition of scf";
  let description = [{
    ```mlir
    %c = pmap.to_bool %x : tensor<i1>
    ```

    Constraint: (to_bool-1) the operand is a scalar of i1.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input);
  let results = (outs I1:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Pmap_AssertOp : Pmap_Op<"assert", [MemoryEffects<[MemWrite<Pmap_HostResource>]>]> {
  let summary = "a run-time error unless a condition holds";
  let description = [{
    The message is the user's text. `args` are values that the message shows after it.

    ```mlir
    pmap.assert %ok, "loss must be finite" : tensor<i1>
    ```

    Constraint: (assert-1) the condition is a scalar of i1.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

def Pmap_PrintOp : Pmap_Op<"print", [MemoryEffects<[MemWrite<Pmap_HostResource>]>]> {
  let summary = "prints values as a line of text";
  let description = [{
    Each `{}` in `format` stands for the next operand. `dtypes` names each operand's dtype, signedness included.

    ```mlir
    pmap.print "loss {}" (%l) ["f32"] : tensor<f32>
    ```

    Constraint: (print-1) there is one `{}` and one dtype per operand.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins StrAttr:$format, Variadic<Pmap_TensorOrDist>:$values, StrArrayAttr:$dtypes);
  let assemblyFormat = "$format `(` $values `)` $dtypes attr-dict (`:` type($values)^)?";
}

#endif
