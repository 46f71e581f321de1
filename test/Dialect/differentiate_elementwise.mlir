// The rules of arith and math; their numbers are checked by test/numeric/gradients_elementwise.pmap.
// RUN: %pmap-opt %s --pmap-transform --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>
func.func @product(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: %[[V:.*]] = arith.mulf %[[X]], %[[Y]]
  // CHECK-NEXT: return %[[V]], %[[Y]], %[[X]]
  %v, %dx, %dy = pmap.grad (%x as %a : tensor<f32>, %y as %b : tensor<f32>) wrt [0, 1] {
    %0 = arith.mulf %a, %b : tensor<f32>
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>, tensor<f32>
  return %v, %dx, %dy : tensor<f32>, tensor<f32>, tensor<f32>
}

// The derivative of tanh is in its result.
// CHECK-LABEL: func.func @tanh
// CHECK-SAME: %[[X:.*]]: tensor<f32>
func.func @tanh(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[Y:.*]] = math.tanh %[[X]]
  // CHECK-NEXT: %[[YY:.*]] = arith.mulf %[[Y]], %[[Y]]
  // CHECK-NEXT: %[[D:.*]] = arith.subf %{{.*}}, %[[YY]]
  // CHECK-NEXT: return %[[D]]
  %v, %d = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = math.tanh %a : tensor<f32>
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %d : tensor<f32>
}

// An argument used twice gets the sum; what is captured is constant; an unused argument gets zero.
// CHECK-LABEL: func.func @uses
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>
func.func @uses(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
  // CHECK-DAG: %[[S:.*]] = arith.addf %[[Y]], %[[X]]
  // CHECK: return %[[S]], %[[ZERO]]
  %v, %dx, %dy = pmap.grad (%x as %a : tensor<f32>, %y as %b : tensor<f32>) wrt [0, 1] {
    %0 = arith.mulf %a, %x : tensor<f32>
    %1 = arith.mulf %a, %y : tensor<f32>
    %2 = arith.addf %0, %1 : tensor<f32>
    pmap.yield %2 : tensor<f32>
  } : tensor<f32>, tensor<f32>, tensor<f32>
  return %dx, %dy : tensor<f32>, tensor<f32>
}

// Where a `where` may not take a side, a zero cotangent gives zero, though the derivative be infinite there. A finite one
// stays in the product, whose own derivative it is.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xi1>
func.func @masked(%x: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<4xf32> {
  // CHECK-DAG: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
  // CHECK: %[[Y:.*]] = math.sqrt %[[X]]
  // CHECK: %[[CT:.*]] = arith.select %[[C]], %{{.*}}, %{{.*}}
  // CHECK: %[[D:.*]] = arith.divf %[[HALF]], %[[Y]]
  // CHECK: %[[TAKEN:.*]] = arith.cmpf une, %[[CT]], %{{.*}}
  // CHECK: %[[ZERO_IF_FINITE:.*]] = arith.subf %[[D]], %[[D]]
  // CHECK: %[[FINITE:.*]] = arith.cmpf oeq, %[[ZERO_IF_FINITE]], %{{.*}}
  // CHECK: %[[KEPT:.*]] = arith.ori %[[TAKEN]], %[[FINITE]]
  // CHECK: %[[SAFE:.*]] = arith.select %[[KEPT]], %[[D]], %{{.*}}
  // CHECK: %[[G:.*]] = arith.mulf %[[CT]], %[[SAFE]]
  // CHECK: return %[[G]]
  // CHECK-NOT: pmap.masked
  %v, %d = pmap.grad (%x as %a : tensor<4xf32>) wrt [0] {
    %zero = arith.constant dense<0.0> : tensor<4xf32>
    %0 = math.sqrt %a : tensor<4xf32>
    %1 = arith.select %c, %0, %zero : tensor<4xi1>, tensor<4xf32>
    %2 = pmap.reduce sum %1 dims [0] : tensor<4xf32> -> tensor<f32>
    pmap.yield %2 : tensor<f32>
  } : tensor<f32>, tensor<4xf32>
  return %d : tensor<4xf32>
}

// Constants by decree and by type: the stop vanishes, integers carry no derivative.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
  // CHECK-NOT: stop_gradient
  // CHECK: return %[[ZERO]]
  %v, %d = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = pmap.stop_gradient %a : tensor<f32>
    %1 = arith.fptosi %a : tensor<f32> to tensor<i32>
    %2 = arith.sitofp %1 : tensor<i32> to tensor<f32>
    %3 = arith.mulf %0, %2 : tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %d : tensor<f32>
}

// Auxiliary values come out as they are.
// CHECK-LABEL: func.func @auxiliary
// CHECK-SAME: %[[X:.*]]: tensor<f32>
func.func @auxiliary(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[E:.*]] = math.exp %[[X]]
  // CHECK: return %[[E]]
  %v, %aux, %d = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = math.exp %a : tensor<f32>
    %1 = arith.mulf %a, %a : tensor<f32>
    pmap.yield %1, %0 : tensor<f32>, tensor<f32>
  } : tensor<f32>, tensor<f32>, tensor<f32>
  return %aux, %d : tensor<f32>, tensor<f32>
}

// A second derivative: the inner gradient is differentiated like any other code.
// CHECK-LABEL: func.func @second
func.func @second(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NOT: pmap.grad
  // CHECK: math.sin
  // CHECK: arith.negf
  // CHECK: return
  %v, %d = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %w, %e = pmap.grad (%a as %b : tensor<f32>) wrt [0] {
      %0 = math.sin %b : tensor<f32>
      pmap.yield %0 : tensor<f32>
    } : tensor<f32>, tensor<f32>
    pmap.yield %e : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %d : tensor<f32>
}
