// Array ops and their transposes.
// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s

!mat = tensor<?x?xf32, #pmap.layout<["n", "d"], []>>
!vec = tensor<?xf32, #pmap.layout<["d"], []>>
!rows = tensor<?xf32, #pmap.layout<["n"], []>>

// CHECK-LABEL: func.func @matrix_times_vector
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x?xf32, #pmap.layout<["n", "d"], []>>, %[[W:[^:]*]]: tensor<?xf32
func.func @matrix_times_vector(%x: !mat, %w: !vec) -> !vec attributes {pmap.sizes = []} {
  // CHECK: %[[Y:.*]] = pmap.dot %[[X]], %[[W]] batch [] x [] contract [1] x [0]
  // CHECK: %[[CT:.*]] = arith.mulf %{{.*}}, %[[Y]]
  // No transpose is materialised: the rows are contracted where they lie.
  // CHECK-NOT: transpose
  // CHECK: %[[G:.*]] = pmap.dot %[[X]], %[[CT]] batch [] x [] contract [0] x [0]
  // CHECK: return %[[G]]
  %v, %d = pmap.grad (%w as %a : !vec) wrt [0] {
    %0 = pmap.dot %x, %a batch [] x [] contract [1] x [0] : !mat, !vec -> !rows
    %two = arith.constant dense<2.0> : tensor<f32>
    %twos = pmap.broadcast %two dims [] : tensor<f32> -> !rows
    %1 = math.powf %0, %twos : !rows
    %2 = pmap.reduce sum %1 dims [0] : !rows -> tensor<f32>
    pmap.yield %2 : tensor<f32>
  } : tensor<f32>, !vec
  return %d : !vec
}

// The gradient of a part is the same part of the gradient, in zeros. It checks the bounds, since the slice itself is gone.
// CHECK-LABEL: func.func @slice
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[I:.*]]: index
func.func @slice(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
  // CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<3xf32>
  // CHECK: %[[G:.*]] = pmap.update_slice %[[ZEROS]][%[[I]]] strides [2] = %[[ONES]]
  // CHECK: return %[[G]]
  %v, %d = pmap.grad (%x as %a : tensor<8xf32>) wrt [0] {
    %0 = pmap.slice %a[%i] strides [2] : tensor<8xf32> -> tensor<3xf32>
    %1 = pmap.reduce sum %0 dims [0] : tensor<3xf32> -> tensor<f32>
    pmap.yield %1 : tensor<f32>
  } : tensor<f32>, tensor<8xf32>
  return %d : tensor<8xf32>
}

// gather <-> scatter.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[I:.*]]: tensor<3xi32>
func.func @gather(%x: tensor<8xf32>, %i: tensor<3xi32>) -> tensor<8xf32> {
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
  // CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<3xf32>
  // CHECK: %[[G:.*]] = pmap.scatter sum %[[ZEROS]], %[[I]], %[[ONES]] dim 0
  // CHECK: return %[[G]]
  %v, %d = pmap.grad (%x as %a : tensor<8xf32>) wrt [0] {
    %0 = pmap.gather %a, %i dim 0 : tensor<8xf32>, tensor<3xi32> -> tensor<3xf32>
    %1 = pmap.reduce sum %0 dims [0] : tensor<3xf32> -> tensor<f32>
    pmap.yield %1 : tensor<f32>
  } : tensor<f32>, tensor<8xf32>
  return %d : tensor<8xf32>
}

// Three slices of one array: their cotangents are added in place, never as whole arrays.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<8xf32>, %i: index, %j: index) -> tensor<8xf32> {
  // CHECK: pmap.update_slice
  // CHECK: pmap.update_slice
  // CHECK-NOT: arith.addf %{{.*}} : tensor<8xf32>
  // CHECK: return
  %v, %d = pmap.grad (%x as %a : tensor<8xf32>) wrt [0] {
    %0 = pmap.slice %a[%i] strides [1] : tensor<8xf32> -> tensor<3xf32>
    %1 = pmap.slice %a[%j] strides [1] : tensor<8xf32> -> tensor<3xf32>
    %2 = arith.mulf %0, %1 : tensor<3xf32>
    %3 = pmap.reduce sum %2 dims [0] : tensor<3xf32> -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<8xf32>
  return %d : tensor<8xf32>
}

// A contraction that a select may not take leaves out what is not finite only if there is something of the kind: its result
// tells. Otherwise its operands are used as they are, and neither is copied.
// CHECK-LABEL: func.func @contraction_not_taken
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<4x3xf32>
func.func @contraction_not_taken(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK: %[[Y:.*]] = pmap.dot %[[X]], %[[W]]
  // CHECK: %[[D:.*]] = arith.subf %[[Y]], %[[Y]]
  // CHECK: %[[N:.*]] = arith.cmpf une, %[[D]]
  // CHECK: %[[ANY:.*]] = pmap.reduce or %[[N]] dims [0, 1]
  // CHECK: %[[C:.*]] = pmap.to_bool %[[ANY]]
  // CHECK: %[[L:.*]] = scf.if %[[C]] -> (tensor<8x4xf32>)
  // CHECK: arith.select %{{.*}}, %[[X]], %{{.*}} : tensor<8x4xi1>, tensor<8x4xf32>
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[X]]
  // CHECK: pmap.dot %[[L]]
  %zero = arith.constant dense<0.0> : tensor<8x3xf32>
  %v, %g = pmap.grad (%w as %a : tensor<4x3xf32>) wrt [0] {
    %y = pmap.dot %x, %a batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
    %p = arith.cmpf ogt, %y, %zero : tensor<8x3xf32>
    %r = arith.select %p, %y, %zero : tensor<8x3xi1>, tensor<8x3xf32>
    %s = pmap.reduce sum %r dims [0, 1] : tensor<8x3xf32> -> tensor<f32>
    pmap.yield %s : tensor<f32>
  } : tensor<f32>, tensor<4x3xf32>
  return %g : tensor<4x3xf32>
}

// A slice that is all of an array but its ends comes back within margins of zeros, for sums of such to be elementwise.
// CHECK-LABEL: func.func @slice_without_ends
func.func @slice_without_ends(%x: tensor<?xf32, #pmap.layout<["n"], []>>) -> tensor<?xf32, #pmap.layout<["n"], []>> {
  // CHECK-NOT: pmap.update_slice
  // CHECK: pmap.pad %{{.*}} with %{{.*}} low ["1"] high ["2"]
  %c1 = arith.constant 1 : index
  %0:2 = pmap.grad (%x as %a : tensor<?xf32, #pmap.layout<["n"], []>>) wrt [0] {
    %1 = pmap.slice %a[%c1] strides [1] in_bounds : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<?xf32, #pmap.layout<["n-3"], []>>
    %2 = arith.mulf %1, %1 : tensor<?xf32, #pmap.layout<["n-3"], []>>
    %3 = pmap.reduce sum %2 dims [0] : tensor<?xf32, #pmap.layout<["n-3"], []>> -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>
  return %0#1 : tensor<?xf32, #pmap.layout<["n"], []>>
}
