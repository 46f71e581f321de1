// RUN: %pmap-opt %s --pmap-to-linalg | FileCheck %s

!v = tensor<?xf32, #pmap.layout<["n"], []>>
!m = tensor<?x?xf32, #pmap.layout<["n", "m"], []>>

// Elements at the point are inputs, so that the comprehension is an ordinary elementwise op.
// CHECK-LABEL: func.func @outer
// CHECK-NOT: pmap_rt_fail
// CHECK: linalg.generic {{.*}} ins(%arg2, %arg3 : tensor<?xf32>, tensor<?xf32>)
// CHECK-NOT: tensor.extract
func.func @outer(%n: index, %m: index, %x: !v, %y: tensor<?xf32, #pmap.layout<["m"], []>>) -> !m attributes {pmap.sizes = ["n", "m"]} {
  %r = pmap.for_each (%i, %j) in (%n, %m) {
    %a = pmap.extract %x[%i] : !v -> tensor<f32>
    %b = pmap.extract %y[%j] : tensor<?xf32, #pmap.layout<["m"], []>> -> tensor<f32>
    %c = arith.mulf %a, %b : tensor<f32>
    pmap.yield %c : tensor<f32>
  } : !m
  return %r : !m
}

// An index at a fixed distance is checked once, before the loop, and reads a slice.
// CHECK-LABEL: func.func @next
// CHECK: func.call @pmap_rt_fail
// CHECK: %[[NEXT:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}] [%{{.*}}] [1]
// CHECK: linalg.generic {{.*}} ins(%[[NEXT]] : tensor<?xf32>)
// CHECK-NOT: pmap_rt_fail
func.func @next(%n: index, %x: !v) -> tensor<?xf32, #pmap.layout<["n-1"], []>> attributes {pmap.sizes = ["n"]} {
  %k = pmap.size "n-1"
  %c1 = arith.constant 1 : index
  %r = pmap.for_each (%i) in (%k) {
    %j = arith.addi %i, %c1 : index
    %jc = pmap.checked_index %j < %n dim 0
    %a = pmap.extract %x[%jc] : !v -> tensor<f32>
    pmap.yield %a : tensor<f32>
  } : tensor<?xf32, #pmap.layout<["n-1"], []>>
  return %r : tensor<?xf32, #pmap.layout<["n-1"], []>>
}

// A check under a condition stays under it.
// CHECK-LABEL: func.func @guarded
// CHECK: linalg.generic
// CHECK: scf.if
// CHECK: func.call @pmap_rt_fail
func.func @guarded(%n: index, %k: index, %x: !v) -> tensor<?xf32, #pmap.layout<["k"], []>> attributes {pmap.sizes = ["n", "k"]} {
  %r = pmap.for_each (%i) in (%k) {
    %c = arith.cmpi slt, %i, %n : index
    %v = scf.if %c -> tensor<f32> {
      %j = pmap.checked_index %i < %n dim 0
      %a = pmap.extract %x[%j] : !v -> tensor<f32>
      scf.yield %a : tensor<f32>
    } else {
      %z = arith.constant dense<0.0> : tensor<f32>
      scf.yield %z : tensor<f32>
    }
    pmap.yield %v : tensor<f32>
  } : tensor<?xf32, #pmap.layout<["k"], []>>
  return %r : tensor<?xf32, #pmap.layout<["k"], []>>
}

// A body that makes arrays is a parallel loop.
// CHECK-LABEL: func.func @rows
// CHECK: scf.forall (%[[I:.*]]) in (%{{.*}}) shared_outs(%[[O:.*]] = %{{.*}}) -> (tensor<?x?xf32>)
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[I]], 0]
func.func @rows(%n: index, %m: index, %x: !m) -> !m attributes {pmap.sizes = ["n", "m"]} {
  %c0 = arith.constant 0 : index
  %r = pmap.for_each (%i) in (%n) {
    %row = pmap.slice %x[%i, %c0] strides [1, 1] in_bounds : !m -> tensor<1x?xf32, #pmap.layout<["1", "m"], []>>
    %f = pmap.reshape %row : tensor<1x?xf32, #pmap.layout<["1", "m"], []>> -> tensor<?xf32, #pmap.layout<["m"], []>>
    %s = pmap.scan sum %f dim 0 : tensor<?xf32, #pmap.layout<["m"], []>>
    pmap.yield %s : tensor<?xf32, #pmap.layout<["m"], []>>
  } : !m
  return %r : !m
}
