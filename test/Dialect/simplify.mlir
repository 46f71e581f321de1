// RUN: %pmap-opt %s --pmap-simplify | FileCheck %s

!vec = tensor<?xf32, #pmap.layout<["n"], []>>
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: %[[X:.*]]: tensor<?xf32, #pmap.layout<["n"], []>>
func.func @neutral(%x: !vec) -> !vec {
  // CHECK-NEXT: return %[[X]]
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %zeros = pmap.broadcast %zero dims [] : tensor<f32> -> !vec
  %ones = pmap.broadcast %one dims [] : tensor<f32> -> !vec
  %0 = arith.addf %zeros, %x : !vec
  %1 = arith.mulf %0, %ones : !vec
  %2 = arith.negf %1 : !vec
  %3 = arith.negf %2 : !vec
  return %3 : !vec
}

// CHECK-LABEL: func.func @square
// CHECK-SAME: %[[X:.*]]: tensor<?xf32
func.func @square(%x: !vec) -> !vec {
  // CHECK-NEXT: %[[S:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK-NEXT: return %[[S]]
  %two = arith.constant dense<2.0> : tensor<f32>
  %twos = pmap.broadcast %two dims [] : tensor<f32> -> !vec
  %0 = math.powf %x, %twos : !vec
  return %0 : !vec
}

// CHECK-LABEL: func.func @sum_of_splat
// CHECK-SAME: %[[X:.*]]: tensor<f32>
func.func @sum_of_splat(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[N:.*]] = pmap.size "n"
  // CHECK: %[[F:.*]] = pmap.from_index %[[N]] : tensor<f32>
  // CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[F]]
  // CHECK: return %[[P]]
  %0 = pmap.broadcast %x dims [] : tensor<f32> -> !vec
  %1 = pmap.reduce sum %0 dims [0] : !vec -> tensor<f32>
  return %1 : tensor<f32>
}

// The same sum over the devices once; one that nobody reads, never.
// CHECK-LABEL: func.func @psums
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @psums(%x: !scalar, %y: !scalar) -> tensor<f32> {
  // CHECK-NEXT: %[[S:.*]] = pmap.all_reduce sum(%[[X]]) over ["a"]
  // CHECK-NEXT: %[[D:.*]] = arith.addf %[[S]], %[[S]]
  // CHECK-NEXT: return %[[D]]
  %0:2 = pmap.all_reduce sum (%x, %y) over ["a"] : (!scalar, !scalar) -> (tensor<f32>, tensor<f32>)
  %1 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %2 = pmap.all_reduce max (%y) over ["a"] : (!scalar) -> tensor<f32>
  %3 = arith.addf %0#0, %1 : tensor<f32>
  return %3 : tensor<f32>
}

// A loop carries neither what nobody reads nor what never changes.
// CHECK-LABEL: func.func @carried
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>
func.func @carried(%x: tensor<f32>, %y: tensor<f32>, %n: index) -> tensor<f32> {
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[X]]) -> (tensor<f32>)
  // CHECK-NEXT: %[[S:.*]] = arith.mulf %[[A]], %[[Y]]
  // CHECK-NEXT: scf.yield %[[S]]
  // CHECK: return %[[R]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %y) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %1 = arith.mulf %a, %c : tensor<f32>
    %2 = math.exp %b : tensor<f32>
    scf.yield %1, %2, %c : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %0#0 : tensor<f32>
}

// An `if` stays an `if`: a select would compute both sides.
// CHECK-LABEL: func.func @branches
func.func @branches(%c: i1, %x: !vec, %y: !vec) -> !vec {
  // CHECK: scf.if %{{.*}} -> (tensor<?xf32, #pmap.layout<["n"], []>>) {
  // CHECK-NOT: math.exp
  %0:2 = scf.if %c -> (!vec, !vec) {
    %1 = math.exp %x : !vec
    scf.yield %x, %1 : !vec, !vec
  } else {
    scf.yield %y, %y : !vec, !vec
  }
  return %0#0 : !vec
}

// A contraction with a scalar sums nothing: a product.
// CHECK-LABEL: func.func @dot_with_scalar
// CHECK-SAME: %[[C:.*]]: tensor<f64>, %[[D:.*]]: tensor<f64>, %[[X:.*]]: tensor<4xf64>
func.func @dot_with_scalar(%c: tensor<f64>, %d: tensor<f64>, %x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<f64>) {
  // CHECK-NOT: pmap.dot
  // CHECK: %[[B:.*]] = pmap.broadcast %[[C]]
  // CHECK: %[[L:.*]] = arith.mulf %[[B]], %[[X]] : tensor<4xf64>
  // CHECK: %[[E:.*]] = pmap.broadcast %[[D]]
  // CHECK: %[[R:.*]] = arith.mulf %[[X]], %[[E]] : tensor<4xf64>
  // CHECK: %[[S:.*]] = arith.mulf %[[C]], %[[D]] : tensor<f64>
  // CHECK: return %[[L]], %[[R]], %[[S]]
  %0 = pmap.dot %c, %x batch [] x [] contract [] x [] : tensor<f64>, tensor<4xf64> -> tensor<4xf64>
  %1 = pmap.dot %x, %d batch [] x [] contract [] x [] : tensor<4xf64>, tensor<f64> -> tensor<4xf64>
  %2 = pmap.dot %c, %d batch [] x [] contract [] x [] : tensor<f64>, tensor<f64> -> tensor<f64>
  return %0, %1, %2 : tensor<4xf64>, tensor<4xf64>, tensor<f64>
}

// The cotangents of a padded array's neighbours are added without its margins: a slice of their sum is a sum of slices, and
// one that takes out just what was padded is that.
// CHECK-LABEL: func.func @slice_of_padded_sum
// CHECK-SAME: %[[A:[^:]*]]: tensor<?xf32, #pmap.layout<["n"], []>>, %[[B:[^:]*]]: tensor
func.func @slice_of_padded_sum(%a: !vec, %b: !vec) -> !vec {
  // CHECK: %[[P:.*]] = pmap.pad %[[A]]
  // CHECK: %[[S:.*]] = pmap.slice %[[P]][%{{.*}}] strides [1] in_bounds
  // CHECK: %[[SUM:.*]] = arith.addf %[[S]], %[[B]] : tensor<?xf32, #pmap.layout<["n"], []>>
  // CHECK: return %[[SUM]]
  %zero = arith.constant dense<0.0> : tensor<f32>
  %c1 = arith.constant 1 : index
  %0 = pmap.pad %a with %zero low ["2"] high ["0"] : !vec, tensor<f32> -> tensor<?xf32, #pmap.layout<["n+2"], []>>
  %1 = pmap.pad %b with %zero low ["1"] high ["1"] : !vec, tensor<f32> -> tensor<?xf32, #pmap.layout<["n+2"], []>>
  %2 = arith.addf %0, %1 : tensor<?xf32, #pmap.layout<["n+2"], []>>
  %3 = pmap.slice %2[%c1] strides [1] in_bounds : tensor<?xf32, #pmap.layout<["n+2"], []>> -> !vec
  return %3 : !vec
}

// A sum of which two wide slices are taken is computed once.
// CHECK-LABEL: func.func @slices_of_sum
func.func @slices_of_sum(%a: !vec, %b: !vec) -> (tensor<?xf32, #pmap.layout<["n-1"], []>>, tensor<?xf32, #pmap.layout<["n-1"], []>>) {
  // CHECK: %[[SUM:.*]] = arith.addf
  // CHECK: pmap.slice %[[SUM]]
  // CHECK: pmap.slice %[[SUM]]
  // CHECK-NOT: arith.addf
  // CHECK: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.addf %a, %b : !vec
  %1 = pmap.slice %0[%c0] strides [1] in_bounds : !vec -> tensor<?xf32, #pmap.layout<["n-1"], []>>
  %2 = pmap.slice %0[%c1] strides [1] in_bounds : !vec -> tensor<?xf32, #pmap.layout<["n-1"], []>>
  return %1, %2 : tensor<?xf32, #pmap.layout<["n-1"], []>>, tensor<?xf32, #pmap.layout<["n-1"], []>>
}

// Whole arrays are added before parts, which are then added in place.
// CHECK-LABEL: func.func @parts_last
// CHECK-SAME: %[[A:[^:]*]]: tensor<8xf32>, %[[B:[^:]*]]: tensor<8xf32>, %[[U:[^:]*]]: tensor<2xf32>, %[[I:[^:]*]]: index
func.func @parts_last(%a: tensor<8xf32>, %b: tensor<8xf32>, %u: tensor<2xf32>, %i: index) -> tensor<8xf32> {
  // CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
  // CHECK: %[[OLD:.*]] = pmap.slice %[[SUM]][%[[I]]]
  // CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[U]]
  // CHECK: %[[R:.*]] = pmap.update_slice %[[SUM]][%[[I]]] strides [1] = %[[NEW]]
  // CHECK: return %[[R]]
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %0 = pmap.update_slice %zeros[%i] strides [1] = %u : tensor<8xf32>, tensor<2xf32> -> tensor<8xf32>
  %1 = arith.addf %a, %0 : tensor<8xf32>
  %2 = arith.addf %1, %b : tensor<8xf32>
  return %2 : tensor<8xf32>
}
