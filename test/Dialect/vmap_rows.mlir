// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s
// P8: what an index or a condition that differs between rows decides runs row by row, in as few loops as its order allows.

!rows = tensor<?x3xf32, #pmap.layout<["n", "3"], []>>
!row = tensor<3xf32, #pmap.layout<["3"], ["i"]>>
!one = tensor<f32, #pmap.layout<[], ["i"]>>
!ones = tensor<?xf32, #pmap.layout<["n"], []>>
!index = tensor<i32, #pmap.layout<[], ["i"]>>
!indices = tensor<?xi32, #pmap.layout<["n"], []>>

// Two reads at indices of the row, with arithmetic between them, are one loop of scalars.
// CHECK-LABEL: func.func @reads
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32, #{{.*}}>, %[[K:[a-z0-9]+]]: tensor<?xi32, #{{.*}}>, %[[T:[a-z0-9]+]]: tensor<9xf32>)
func.func @reads(%n: index, %x: !rows, %k: !indices, %t: tensor<9xf32>) -> !ones attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[R:.*]] = pmap.for_each (%[[I:.*]]) in (%{{.*}})
  // CHECK-NOT: pmap.slice
  // CHECK-DAG: pmap.extract %[[X]][%[[I]], %{{.*}}]
  // CHECK-DAG: pmap.extract %[[T]][%{{.*}}]
  // CHECK: arith.mulf %{{.*}} : tensor<f32>
  // CHECK-NOT: pmap.for_each
  // CHECK: return %[[R]]
  %0 = pmap.vmap "i" size "n"(%x, %k) : (!rows, !indices) -> !ones {
  ^bb0(%r: !row, %j: !index):
    %c3 = arith.constant 3 : index
    %c9 = arith.constant 9 : index
    %a = pmap.to_index %j : !index
    %b = pmap.checked_index %a < %c3 dim 0
    %e = pmap.extract %r[%b] : !row -> !one
    %d = arith.addf %e, %e : !one
    %w = pmap.widen %t : tensor<9xf32> to tensor<9xf32, #pmap.layout<["9"], ["i"]>>
    %f = pmap.checked_index %a < %c9 dim 0
    %g = pmap.extract %w[%f] : tensor<9xf32, #pmap.layout<["9"], ["i"]>> -> !one
    %m = arith.mulf %d, %g : !one
    pmap.yield %m : !one
  }
  return %0 : !ones
}

// The masked `if`: the check is under the row's own condition.
// CHECK-LABEL: func.func @masked
func.func @masked(%n: index, %k: !indices, %t: tensor<9xf32>) -> !ones attributes {pmap.sizes = ["n"]} {
  // CHECK: pmap.for_each
  // CHECK: %[[C:.*]] = pmap.to_bool
  // CHECK: scf.if %[[C]]
  // CHECK-NEXT: pmap.checked_index
  // CHECK-NEXT: pmap.extract
  %0 = pmap.vmap "i" size "n"(%k) : (!indices) -> !ones {
  ^bb0(%j: !index):
    %c9 = arith.constant 9 : index
    %nine = arith.constant dense<9> : !index
    %zero = arith.constant dense<0.0> : !one
    %w = pmap.widen %t : tensor<9xf32> to tensor<9xf32, #pmap.layout<["9"], ["i"]>>
    %below = arith.cmpi slt, %j, %nine : !index
    %c = pmap.to_bool %below : tensor<i1, #pmap.layout<[], ["i"]>>
    %a = pmap.to_index %j : !index
    %r = scf.if %c -> !one {
      %b = pmap.checked_index %a < %c9 dim 0
      %e = pmap.extract %w[%b] : tensor<9xf32, #pmap.layout<["9"], ["i"]>> -> !one
      scf.yield %e : !one
    } else {
      scf.yield %zero : !one
    }
    pmap.yield %r : !one
  }
  return %0 : !ones
}

// A collective over the rows between two reads divides them into two loops, and the index is found again in the second.
// CHECK-LABEL: func.func @between
func.func @between(%n: index, %x: !rows, %k: !indices) -> !ones attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[A:.*]] = pmap.for_each
  // CHECK: %[[S:.*]] = pmap.reduce sum %[[A]] dims [0]
  // CHECK: %[[V:.*]] = pmap.broadcast %[[S]]
  // CHECK: %[[H:.*]] = arith.divf %{{.*}}, %[[V]]
  // CHECK: pmap.for_each
  // CHECK: pmap.to_index
  // CHECK: pmap.extract %[[H]][
  %0 = pmap.vmap "i" size "n"(%x, %k) : (!rows, !indices) -> !ones {
  ^bb0(%r: !row, %j: !index):
    %c3 = arith.constant 3 : index
    %a = pmap.to_index %j : !index
    %b = pmap.checked_index %a < %c3 dim 0
    %e = pmap.extract %r[%b] : !row -> !one
    %s = pmap.all_reduce sum(%e) over ["i"] : (!one) -> tensor<f32>
    %w = pmap.widen %s : tensor<f32> to !one
    %v = pmap.broadcast %w dims [] : !one -> !row
    %h = arith.divf %r, %v : !row
    %g = pmap.extract %h[%b] : !row -> !one
    pmap.yield %g : !one
  }
  return %0 : !ones
}
