// RUN: %pmap-opt %s --pmap-transform --pmap-simplify --split-input-file --verify-diagnostics | FileCheck %s
// P8: `chunk` is a loop over chunks of so many rows, and the rest. Positions are those of all rows.

!ones = tensor<?xf32, #pmap.layout<["n"], []>>
!one = tensor<f32, #pmap.layout<[], ["i"]>>
// CHECK-LABEL: func.func @rest
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?xf32, #{{.*}}>)
func.func @rest(%n: index, %x: !ones) -> !ones attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[END:.*]] = pmap.size "4*floordiv(n,4)"
  // CHECK: %[[WHOLE:.*]] = scf.for %[[AT:.*]] = %{{.*}} to %[[END]] step %c4 iter_args(%[[ACC:.*]] =
  // CHECK: %[[PART:.*]] = pmap.slice %[[X]][%[[AT]]] {{.*}} -> tensor<4xf32>
  // CHECK: %[[MADE:.*]] = arith.mulf %[[PART]], %[[PART]] : tensor<4xf32>
  // CHECK: pmap.update_slice %[[ACC]][%[[AT]]] {{.*}} = %[[MADE]]
  // CHECK: %[[TAIL:.*]] = pmap.slice %[[X]][%[[END]]] {{.*}} -> tensor<?xf32, #pmap.layout<["mod(n,4)"], []>>
  // CHECK: %[[LAST:.*]] = arith.mulf %[[TAIL]], %[[TAIL]]
  // CHECK: pmap.update_slice %[[WHOLE]][%[[END]]] {{.*}} = %[[LAST]]
  %0 = pmap.vmap "i" size "n" chunk 4(%x) : (!ones) -> !ones {
  ^bb0(%r: !one):
    %m = arith.mulf %r, %r : !one
    pmap.yield %m : !one
  }
  return %0 : !ones
}

// Eight rows are two chunks of four, and nothing else.
// CHECK-LABEL: func.func @even
func.func @even() -> tensor<8xi32> {
  // CHECK: %[[R:.*]] = scf.for
  // CHECK: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[R]]
  %x = arith.constant dense<1> : tensor<8xi32>
  %0 = pmap.vmap "i" size "8" chunk 4(%x) : (tensor<8xi32>) -> tensor<8xi32> {
  ^bb0(%r: tensor<i32, #pmap.layout<[], ["i"]>>):
    %k = pmap.axis_index "i" : tensor<i32, #pmap.layout<[], ["i"]>>
    %m = arith.addi %r, %k : tensor<i32, #pmap.layout<[], ["i"]>>
    pmap.yield %m : tensor<i32, #pmap.layout<[], ["i"]>>
  }
  return %0 : tensor<8xi32>
}

// -----
func.func @collective(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = pmap.vmap "i" size "8" chunk 4(%x) : (tensor<8xf32>) -> tensor<f32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    // expected-error @+1 {{a collective over the rows of a vmap needs all of them at once, and this vmap has 4 at a time [E0731]}}
    %s = pmap.all_reduce sum(%r) over ["i"] : (tensor<f32, #pmap.layout<[], ["i"]>>) -> tensor<f32>
    pmap.yield %s : tensor<f32>
  }
  return %0 : tensor<f32>
}
