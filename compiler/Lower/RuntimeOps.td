//===- RuntimeOps.td - Calls of the runtime that take arrays ------------------------------------------------*- td -*-===//
#ifndef PMAP_RUNTIME_OPS_TD
#define PMAP_RUNTIME_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PmapRt_Dialect : Dialect {
  let name = "pmap_rt";
  let cppNamespace = "::pmap::rt";
  let summary = "Calls of the runtime's C functions that take arrays";
  let description = [{
    Between PmapToLinalg and LLVM, a call that hands arrays to the runtime must bufferize, which a `func.call` of an
    external function does not do for arrays of any rank and dtype. This dialect holds the one op that does.
    Calls with scalars and pointers only are plain `func.call`s.
  }];
}

def PmapRt_CallOp : Op<PmapRt_Dialect, "call", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<BufferizableOpInterface, ["bufferizesToAllocation", "bufferizesToMemoryRead",
      "bufferizesToMemoryWrite", "getAliasingValues", "bufferize", "getBufferType"]>]> {
  let summary = "calls a function of the runtime";
  let description = [{
    `callee` is a row of RuntimeCalls.def, which says how operands become C arguments. `scalars` are passed by value.
    `inputs` are read: arrays, or scalars that travel through storage of their own. `outputs` are destinations, written
    whole. The results are, in this order: on tensors, one per destination; arrays the callee makes and scalars it writes;
    what the C function returns, when that is a pointer.

    ```mlir
    %r = pmap_rt.call "pmap_rt_all_reduce" (%site, %among, %kind, %dtype : !llvm.ptr, !llvm.ptr, i32, i32)
           ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    ```

    Constraints: (call-1) the callee is in the table; (call-2) destinations and their results have one type; (call-3) inputs
    and outputs are all tensors or scalars, or all memrefs or scalars.

    Lifespan: made by PmapToLinalg, bufferized with everything else, removed by `pmap-lower-runtime-calls`.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$scalars, Variadic<AnyType>:$inputs, Variadic<AnyShaped>:$outputs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` ($scalars^ `:` type($scalars))? `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True while arrays are tensors.
    bool onTensors();
    /// The results that the callee writes through pointers, fresh arrays and scalars: neither destinations nor what C returns.
    ::mlir::ResultRange getStoredResults();
  }];
}

def PmapRt_OpaqueOp : Op<PmapRt_Dialect, "opaque", [Pure, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<BufferizableOpInterface, ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
      "getAliasingValues", "bufferize"]>]> {
  let summary = "the same value, which no optimisation knows to be the same";
  let description = [{
    `pmap.opaque` after PmapToLinalg: arrays share their buffer.

    Lifespan: made by PmapToLinalg; one of an array is removed by bufferization, one of a scalar by
    `pmap-lower-runtime-calls`.
  }];
  let arguments = (ins AnyType:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

#endif
