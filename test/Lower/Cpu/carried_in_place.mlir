// RUN: %pmap-opt %s --pmap-cpu-reuse-destinations --pmap-cpu-bufferize | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// An array that a loop updates elementwise, and then at one place, is written where it stands.
// CHECK-LABEL: func.func @update
// CHECK: memref.alloc
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} ins(%[[X:.*]] : memref<?xf32>) outs(%[[X]] : memref<?xf32>)
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: memref.store %{{.*}}, %[[X]]
// CHECK: scf.yield %[[X]]
func.func @update(%n: index, %steps: index, %v: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %z = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%x = %z) -> (tensor<?xf32>) {
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %v : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %u = tensor.insert %v into %y[%i] : tensor<?xf32>
    scf.yield %u : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// One that reads its neighbours needs a second array, and no copy.
// CHECK-LABEL: func.func @neighbours
// CHECK: scf.for
// CHECK: memref.alloc
// CHECK: linalg.generic
// CHECK-NOT: memref.copy
// CHECK: scf.yield
func.func @neighbours(%n: index, %steps: index, %v: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %z = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%x = %z) -> (tensor<?xf32>) {
    %f = tensor.empty(%n) : tensor<?xf32>
    %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%f : tensor<?xf32>) {
    ^bb0(%out: f32):
      %j = linalg.index 0 : index
      %k = arith.subi %j, %c1 : index
      %l = arith.maxsi %k, %c0 : index
      %0 = tensor.extract %x[%l] : tensor<?xf32>
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
