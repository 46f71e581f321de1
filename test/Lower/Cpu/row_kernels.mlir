// RUN: %pmap-opt %s --pmap-cpu-fuse --pmap-cpu-bufferize --pmap-cpu-lower-kernels | FileCheck %s

// Softmax is one pass over blocks of rows: maximum, exponentials, sum and quotient of a block while it is in cache. What lies
// between lives in buffers of one block.
#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[N:.*]]: index, %[[D:.*]]: index
// CHECK: %[[RESULT:.*]] = memref.alloc(%[[N]], %[[D]])
// CHECK: scf.forall
// CHECK: memref.alloc
// CHECK: vector.load
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: vector.maskedload
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.divf {{.*}} : vector<16xf32>
// CHECK: vector.store {{.*}}, %[[RESULT]]
// CHECK: vector.maskedstore %[[RESULT]]
// CHECK-NOT: scf.forall
// CHECK-NOT: linalg.generic
func.func @softmax(%n: index, %d: index, %x: tensor<?x?xf32> {bufferization.writable = false}) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty(%n) : tensor<?xf32>
  %e2 = tensor.empty(%n, %d) : tensor<?x?xf32>
  %f = linalg.fill ins(%low : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  %m = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %e = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<?x?xf32>, tensor<?xf32>) outs(%e2 : tensor<?x?xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %0 = arith.subf %in, %in2 : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  %g = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<?x?xf32>) outs(%g : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<?x?xf32>, tensor<?xf32>) outs(%e2 : tensor<?x?xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %0 = arith.divf %in, %in2 : f32
    linalg.yield %0 : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
