// vjp with its pullbacks, jvp, checkpoints, custom rules, and what loops keep.
// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s

// Two pullbacks share one forward computation.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>, %[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<3xf32>
func.func @twice(%x: tensor<3xf32>, %a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: %[[Y:.*]] = math.exp %[[X]]
  // CHECK-NEXT: %[[GA:.*]] = arith.mulf %[[A]], %[[Y]]
  // CHECK-NEXT: %[[GB:.*]] = arith.mulf %[[B]], %[[Y]]
  // CHECK-NEXT: return %[[Y]], %[[GA]], %[[GB]]
  %y, %r = pmap.vjp wrt [0](%x) : (tensor<3xf32>) -> (tensor<3xf32>, !pmap.residuals) {
  ^bb0(%arg: tensor<3xf32>):
    %e = math.exp %arg : tensor<3xf32>
    pmap.yield %e : tensor<3xf32>
  }
  %ga = pmap.pullback %r(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %gb = pmap.pullback %r(%b) : (tensor<3xf32>) -> tensor<3xf32>
  return %y, %ga, %gb : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// A cotangent may vary more than its value, which is computed once.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[CT:.*]]: tensor<f32, #pmap.layout<[], ["i"]>>
func.func @rows(%x: tensor<f32>, %ct: tensor<f32, #pmap.layout<[], ["i"]>>) -> tensor<f32, #pmap.layout<[], ["i"]>> {
  // CHECK: %[[C:.*]] = math.cos %[[X]] : tensor<f32>
  // CHECK: %[[W:.*]] = pmap.widen %[[C]] : tensor<f32> to tensor<f32, #pmap.layout<[], ["i"]>>
  // CHECK: %[[G:.*]] = arith.mulf %[[CT]], %[[W]]
  // CHECK: return %[[G]]
  %y, %r = pmap.vjp wrt [0](%x) : (tensor<f32>) -> (tensor<f32>, !pmap.residuals) {
  ^bb0(%arg: tensor<f32>):
    %s = math.sin %arg : tensor<f32>
    pmap.yield %s : tensor<f32>
  }
  %g = pmap.pullback %r(%ct) : (tensor<f32, #pmap.layout<[], ["i"]>>) -> tensor<f32, #pmap.layout<[], ["i"]>>
  return %g : tensor<f32, #pmap.layout<[], ["i"]>>
}

// A while carries the tangent beside the value.
// CHECK-LABEL: func.func @forward_while
func.func @forward_while(%x: tensor<f32>, %dx: tensor<f32>, %one: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[R:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: return %[[R]]#1
  %y, %dy = pmap.jvp wrt [0](%x) along(%dx) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%arg: tensor<f32>):
    %w = scf.while (%v = %arg) : (tensor<f32>) -> tensor<f32> {
      %large = arith.cmpf ogt, %v, %one : tensor<f32>
      %more = pmap.to_bool %large : tensor<i1>
      scf.condition(%more) %v : tensor<f32>
    } do {
    ^bb0(%v: tensor<f32>):
      %s = math.sin %v : tensor<f32>
      scf.yield %s : tensor<f32>
    }
    pmap.yield %w : tensor<f32>
  }
  return %dy : tensor<f32>
}

// A checkpoint's second computation does not read the first one's inputs as such.
// CHECK-LABEL: func.func @checkpoint
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>
func.func @checkpoint(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  // CHECK: math.exp %[[X]]
  // CHECK: %[[AGAIN:.*]] = pmap.opaque %[[X]]
  // CHECK: math.exp %[[AGAIN]]
  %v, %g = pmap.grad (%x as %a : tensor<3xf32>) wrt [0] {
    %e = pmap.checkpoint : () -> tensor<3xf32> {
      %0 = math.exp %a : tensor<3xf32>
      pmap.yield %0 : tensor<3xf32>
    }
    %s = pmap.reduce sum %e dims [0] : tensor<3xf32> -> tensor<f32>
    pmap.yield %s : tensor<f32>
  } : tensor<f32>, tensor<3xf32>
  return %v, %g : tensor<f32>, tensor<3xf32>
}

// The program's rule, of residuals computed once.
// CHECK-LABEL: func.func @custom
// CHECK-SAME: %[[X:.*]]: tensor<f32>
func.func @custom(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[S:.*]] = math.sin %[[X]]
  // CHECK-NEXT: %[[R:.*]] = math.exp %[[X]]
  // CHECK-NEXT: return %[[S]], %[[R]]
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %y = pmap.custom_vjp(%a) : (tensor<f32>) -> tensor<f32> {
    ^bb0(%b: tensor<f32>):
      %0 = math.sin %b : tensor<f32>
      pmap.yield %0 : tensor<f32>
    } forward {
    ^bb0(%b: tensor<f32>):
      %0 = math.sin %b : tensor<f32>
      %1 = math.exp %b : tensor<f32>
      pmap.yield %0, %1 : tensor<f32>, tensor<f32>
    } backward {
    ^bb0(%r: tensor<f32>, %ct: tensor<f32>):
      %0 = arith.mulf %ct, %r : tensor<f32>
      pmap.yield %0 : tensor<f32>
    }
    pmap.yield %y : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %v, %g : tensor<f32>, tensor<f32>
}

// A collective in a loop is kept, not done again (G5).
// CHECK-LABEL: func.func @keeps_collective
func.func @keeps_collective(%w: tensor<f32>, %x: tensor<f32, #pmap.layout<[], ["a"]>>, %n: index) -> (tensor<f32>, tensor<f32>) {
  // CHECK: scf.for
  // CHECK: pmap.all_reduce sum
  // CHECK: pmap.update_slice
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK-NOT: pmap.all_reduce
  // CHECK: scf.yield
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %g = pmap.grad (%w as %a : tensor<f32>) wrt [0] {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> (tensor<f32>) {
      %s = math.sin %x : tensor<f32, #pmap.layout<[], ["a"]>>
      %t = pmap.all_reduce sum(%s) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
      %z = arith.mulf %y, %t : tensor<f32>
      %e = math.sin %z : tensor<f32>
      scf.yield %e : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %v, %g : tensor<f32>, tensor<f32>
}
