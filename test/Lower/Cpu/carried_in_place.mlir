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

// A product that is added to a carried array is continued there.
// CHECK-LABEL: func @sum_of_products
// CHECK: scf.for
// CHECK-NOT: linalg.fill
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} outs(%[[SUM:.*]] : memref<?x?xf32>)
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.copy
// CHECK: scf.yield %[[SUM]]
func.func @sum_of_products(%n: index, %x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %start: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %start) -> tensor<?x?xf32> {
    %e = tensor.empty(%n, %n) : tensor<?x?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %m = arith.mulf %l, %r : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<?x?xf32>
    %d = tensor.empty(%n, %n) : tensor<?x?xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                            iterator_types = ["parallel", "parallel"]}
        ins(%sum, %p : tensor<?x?xf32>, tensor<?x?xf32>) outs(%d : tensor<?x?xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %s = arith.addf %l, %r : f32
      linalg.yield %s : f32
    } -> tensor<?x?xf32>
    scf.yield %next : tensor<?x?xf32>
  }
  return %total : tensor<?x?xf32>
}
