// RUN: %pmap-opt --pmap-cuda-lower-kernels %s | FileCheck %s --check-prefix=LAUNCH
// RUN: %pmap-opt --pmap-cuda-lower-kernels --pmap-cuda-outline %s | FileCheck %s --check-prefix=OUTLINE

// Flat arrays: 16 bytes per thread, single elements at the end.
// LAUNCH-LABEL: func.func @scale
// LAUNCH: gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c256
// LAUNCH: vector.load %{{.*}} : memref<?xf32>, vector<4xf32>
// LAUNCH: vector.store
// LAUNCH: memref.load
// LAUNCH: {pmap.what = "map"}
// The kernel's parameters are two addresses, the count of units and of elements; the factor is a number.
// OUTLINE-LABEL: func.func @scale
// OUTLINE: llvm.call @pmap_cuda_launch(
func.func @scale(%x: memref<?xf32>, %y: memref<?xf32>, %f: f32) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %in, %f : f32
    linalg.yield %m : f32
  }
  return
}

// The same work elsewhere is the same kernel.
// OUTLINE-LABEL: func.func @scale_again
// OUTLINE: llvm.mlir.addressof @pmap.kernel.scale_l{{[0-9]+}}_map
func.func @scale_again(%a: memref<?xf32>, %b: memref<?xf32>, %g: f32) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%b : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %in, %g : f32
    linalg.yield %m : f32
  }
  return
}

// A sum to one element: chunks of 4096 by warps, then one block.
// LAUNCH-LABEL: func.func @total
// LAUNCH: memref.alloc(%{{.*}}) : memref<?xf32>
// LAUNCH: gpu.launch
// LAUNCH: nvvm.shfl.sync
// LAUNCH: {pmap.what = "partial"}
// LAUNCH: gpu.launch {{.*}} in (%{{.*}} = %c1
// LAUNCH: nvvm.barrier0
// LAUNCH: {pmap.what = "combine"}
func.func @total(%x: memref<?xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<?xf32>) outs(%s : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  return
}

// Sums of columns: a thread per column and piece of rows, so that neighbours read neighbours.
// LAUNCH-LABEL: func.func @columns
// LAUNCH-NOT: nvvm.shfl.sync
// LAUNCH: {pmap.what = "columns"}
// LAUNCH: {pmap.what = "reduce_point"}
func.func @columns(%x: memref<?x?xf32>, %s: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  return
}

// f16: eight elements are 16 bytes. Rows whose length is no multiple of eight take single elements.
// LAUNCH-LABEL: func.func @narrow
// LAUNCH: arith.remui %{{.*}}, %c8
// LAUNCH: vector.load %{{.*}} : memref<?x?xf16>, vector<8xf16>
func.func @narrow(%x: memref<?x?xf16>, %b: memref<?xf16>, %y: memref<?x?xf16>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
                                   affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : memref<?x?xf16>, memref<?xf16>) outs(%y : memref<?x?xf16>) {
  ^bb0(%in: f16, %bias: f16, %out: f16):
    %a = arith.addf %in, %bias : f16
    linalg.yield %a : f16
  }
  return
}

// Indices out of an array: a thread per element.
// LAUNCH-LABEL: func.func @gather
// LAUNCH-NOT: vector.load
// LAUNCH: {pmap.what = "map_scalar"}
func.func @gather(%x: memref<?xf32>, %i: memref<?xi32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%i : memref<?xi32>) outs(%y : memref<?xf32>) {
  ^bb0(%in: i32, %out: f32):
    %k = arith.index_cast %in : i32 to index
    %v = memref.load %x[%k] : memref<?xf32>
    linalg.yield %v : f32
  }
  return
}

// OUTLINE: gpu.module @pmap_kernels
// OUTLINE: func.func @scale_l{{[0-9]+}}_map(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32)
// OUTLINE-NOT: @scale_again
// OUTLINE-NOT: {{memref\.|scf.parallel}}
