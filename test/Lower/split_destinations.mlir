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

// An array that is put together in each trip of a loop has an allocation in it: one from before the loop, which common
// subexpression elimination makes of all, would be copied to be carried.
// BUFFER-LABEL: func.func @parts
// BUFFER:         scf.for
// BUFFER:           %[[OUT:.*]] = memref.alloc
// BUFFER-NOT:       memref.alloc
// BUFFER:           scf.yield %[[OUT]]
func.func @parts(%n: index, %trips: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rest = arith.subi %n, %c1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = scf.for %i = %c0 to %trips step %c1 iter_args(%v = %x) -> (tensor<?xf32>) {
    %first = tensor.extract_slice %e[0] [1] [1] : tensor<?xf32> to tensor<1xf32>
    %last = tensor.extract_slice %v[%rest] [1] [1] : tensor<?xf32> to tensor<1xf32>
    %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%last : tensor<1xf32>) outs(%first : tensor<1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %in : f32
      linalg.yield %s : f32
    } -> tensor<1xf32>
    %part = tensor.insert_slice %a into %e[0] [1] [1] : tensor<1xf32> into tensor<?xf32>
    %behind = tensor.extract_slice %part[1] [%rest] [1] : tensor<?xf32> to tensor<?xf32>
    %before = tensor.extract_slice %v[0] [%rest] [1] : tensor<?xf32> to tensor<?xf32>
    %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%before : tensor<?xf32>) outs(%behind : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %in : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    %whole = tensor.insert_slice %b into %part[1] [%rest] [1] : tensor<?xf32> into tensor<?xf32>
    scf.yield %whole : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
