// RUN: %pmap-opt %s --pmap-split-destinations | FileCheck %s
// RUN: %pmap-opt %s --pmap-split-destinations --pmap-cpu-bufferize | FileCheck %s --check-prefix=BUFFER

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// Two sums share one fill after common subexpression elimination; each gets its own, so that nothing is copied.
// CHECK-LABEL: func.func @sums
// CHECK: %[[A:.*]] = linalg.fill
// CHECK: linalg.generic {{.*}} outs(%[[A]] : tensor<?xf32>)
// CHECK: %[[B:.*]] = linalg.fill
// CHECK: linalg.generic {{.*}} outs(%[[B]] : tensor<?xf32>)
// BUFFER-LABEL: func.func @sums
// BUFFER-NOT: memref.copy
func.func @sums(%n: index, %x: tensor<?x?xf32> {bufferization.writable = false}, %y: tensor<?x?xf32> {bufferization.writable = false}) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %a = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %b = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %a, %b : tensor<?xf32>, tensor<?xf32>
}
