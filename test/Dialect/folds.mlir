// RUN: %pmap-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @broadcast_of_broadcast
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @broadcast_of_broadcast(%x: tensor<4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = pmap.broadcast %[[X]] dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = pmap.broadcast %x dims [1] : tensor<4xf32> -> tensor<3x4xf32>
  %1 = pmap.broadcast %0 dims [1, 2] : tensor<3x4xf32> -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @static_splat
func.func @static_splat() -> tensor<2xf32> {
  // CHECK-NEXT: %[[C:.*]] = arith.constant dense<5.000000e-01> : tensor<2xf32>
  // CHECK-NEXT: return %[[C]]
  %c = arith.constant dense<0.5> : tensor<f32>
  %0 = pmap.broadcast %c dims [] : tensor<f32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @transpose_of_transpose
// CHECK-SAME: %[[X:.*]]: tensor<3x4xf32>
func.func @transpose_of_transpose(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = pmap.transpose %x perm [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %1 = pmap.transpose %0 perm [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @reshape_back
// CHECK-SAME: %[[X:.*]]: tensor<?x2xf32
func.func @reshape_back(%x: tensor<?x2xf32, #pmap.layout<["n", "2"], []>>) -> tensor<?x2xf32, #pmap.layout<["n", "2"], []>> {
  // CHECK-NEXT: return %[[X]]
  %0 = pmap.reshape %x : tensor<?x2xf32, #pmap.layout<["n", "2"], []>> -> tensor<?xf32, #pmap.layout<["2*n"], []>>
  %1 = pmap.reshape %0 : tensor<?xf32, #pmap.layout<["2*n"], []>> -> tensor<?x2xf32, #pmap.layout<["n", "2"], []>>
  return %1 : tensor<?x2xf32, #pmap.layout<["n", "2"], []>>
}

// The inner reshape checks that m is 2 * n: it must stay.
// CHECK-LABEL: func.func @reshape_checked
func.func @reshape_checked(%x: tensor<?x2xf32, #pmap.layout<["n", "2"], []>>) -> tensor<1x?xf32, #pmap.layout<["1", "m"], []>> {
  // CHECK-COUNT-2: pmap.reshape
  %0 = pmap.reshape %x : tensor<?x2xf32, #pmap.layout<["n", "2"], []>> -> tensor<?xf32, #pmap.layout<["m"], []>>
  %1 = pmap.reshape %0 : tensor<?xf32, #pmap.layout<["m"], []>> -> tensor<1x?xf32, #pmap.layout<["1", "m"], []>>
  return %1 : tensor<1x?xf32, #pmap.layout<["1", "m"], []>>
}

// CHECK-LABEL: func.func @widen_of_widen
// CHECK-SAME: %[[X:.*]]: tensor<f32>
func.func @widen_of_widen(%x: tensor<f32>) -> (tensor<f32, #pmap.layout<[], ["a", "b"]>>, tensor<f32, #pmap.layout<[], ["a"]>>) {
  // CHECK-DAG: %[[W:.*]] = pmap.widen %[[X]] : tensor<f32> to tensor<f32, #pmap.layout<[], ["a", "b"]>>
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<1.000000e+00> : tensor<f32, #pmap.layout<[], ["a"]>>
  // CHECK-NEXT: return %[[W]], %[[C]]
  %0 = pmap.widen %x : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
  %1 = pmap.widen %0 : tensor<f32, #pmap.layout<[], ["a"]>> to tensor<f32, #pmap.layout<[], ["a", "b"]>>
  %c = arith.constant dense<1.0> : tensor<f32>
  %2 = pmap.widen %c : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
  return %1, %2 : tensor<f32, #pmap.layout<[], ["a", "b"]>>, tensor<f32, #pmap.layout<[], ["a"]>>
}

// CHECK-LABEL: func.func @constant_size
func.func @constant_size() -> (index, index, tensor<i32>, i1) {
  // CHECK-DAG: %[[SIX:.*]] = arith.constant 6 : index
  // CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
  // CHECK-DAG: %[[T:.*]] = arith.constant dense<6> : tensor<i32>
  // CHECK-DAG: %[[B:.*]] = arith.constant true
  // CHECK-NEXT: return %[[SIX]], %[[THREE]], %[[T]], %[[B]]
  %0 = pmap.size "6"
  %c = arith.constant dense<3> : tensor<i64>
  %1 = pmap.to_index %c : tensor<i64>
  %2 = pmap.from_index %0 : tensor<i32>
  %t = arith.constant dense<true> : tensor<i1>
  %3 = pmap.to_bool %t : tensor<i1>
  return %0, %1, %2, %3 : index, index, tensor<i32>, i1
}

// CHECK-LABEL: func.func @checked_indices
// CHECK-SAME: %[[I:.*]]: index, %[[N:.*]]: index
func.func @checked_indices(%i: index, %n: index) -> (index, index, index) {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
  // CHECK-DAG: %[[ONCE:.*]] = pmap.checked_index %[[I]]<%[[N]] dim 0
  // An index that is out of range stays, to be a run-time error.
  // CHECK-DAG: %[[OUT:.*]] = pmap.checked_index %[[TWO]]<%[[TWO]] dim 0
  // CHECK: return %[[ONE]], %[[ONCE]], %[[OUT]]
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = pmap.checked_index %c1 < %c2 dim 0
  %1 = pmap.checked_index %i < %n dim 0
  %2 = pmap.checked_index %1 < %n dim 0
  %3 = pmap.checked_index %c2 < %c2 dim 0
  return %0, %2, %3 : index, index, index
}

// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>, %[[U:.*]]: tensor<3xf32>, %[[S:.*]]: tensor<f32>, %[[I:.*]]: index
func.func @parts(%x: tensor<3xf32>, %u: tensor<3xf32>, %s: tensor<f32>, %i: index)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK-NEXT: return %[[X]], %[[U]], %[[S]], %[[X]], %[[X]]
  %c0 = arith.constant 0 : index
  %0 = pmap.slice %x[%c0] strides [1] : tensor<3xf32> -> tensor<3xf32>
  %1 = pmap.update_slice %x[%c0] strides [1] = %u : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %2 = pmap.broadcast %s dims [] : tensor<f32> -> tensor<3xf32>
  %3 = pmap.extract %2[%i] : tensor<3xf32> -> tensor<f32>
  %4 = pmap.concat %x dim 0 : (tensor<3xf32>) -> tensor<3xf32>
  %5 = pmap.reverse %x dims [0] : tensor<3xf32>
  %6 = pmap.reverse %5 dims [0] : tensor<3xf32>
  return %0, %1, %3, %4, %6 : tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

// A gradient that nobody reads costs nothing.
// CHECK-LABEL: func.func @dead_grad
func.func @dead_grad(%x: tensor<f32>) {
  // CHECK-NEXT: return
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    pmap.yield %a : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return
}

// A collective keeps its place; a size bound in a loop keeps what mentions it there.
// CHECK-LABEL: func.func @effects
func.func @effects(%x: tensor<f32>) {
  // CHECK-NEXT: pmap.all_reduce
  %0 = pmap.all_reduce sum (%x) over ["a"] : (tensor<f32>) -> tensor<f32>
  return
}
