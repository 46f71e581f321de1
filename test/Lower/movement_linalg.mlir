// RUN: %pmap-opt %s --pmap-to-linalg | FileCheck %s
// Ops that move parts of arrays, and their bounds checks.

!v = tensor<?xf32, #pmap.layout<["n"], []>>
!m = tensor<?x?xf32, #pmap.layout<["n", "m"], []>>

// CHECK-LABEL: func.func @checked_slice
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: func.call @pmap_rt_fail
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}] [2] [1] : tensor<?xf32> to tensor<2xf32>
func.func @checked_slice(%n: index, %i: index, %x: !v) -> tensor<2xf32> attributes {pmap.sizes = ["n", "i"]} {
  %r = pmap.slice %x[%i] strides [1] : !v -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A slice that is shown to fit is not checked.
// CHECK-LABEL: func.func @head
// CHECK-NOT: pmap_rt_fail
// CHECK: tensor.extract_slice
func.func @head(%n: index, %x: tensor<?xf32, #pmap.layout<["n+2"], []>>) -> !v attributes {pmap.sizes = ["n"]} {
  %c1 = arith.constant 1 : index
  %r = pmap.slice %x[%c1] strides [1] : tensor<?xf32, #pmap.layout<["n+2"], []>> -> !v
  return %r : !v
}

// CHECK-LABEL: func.func @element_update
// CHECK: tensor.insert %{{.*}} into %{{.*}}[%{{.*}}]
// CHECK-NOT: insert_slice
func.func @element_update(%n: index, %i: index, %x: !v, %s: tensor<f32>) -> !v attributes {pmap.sizes = ["n", "i"]} {
  %b = pmap.broadcast %s dims [] : tensor<f32> -> tensor<1xf32>
  %r = pmap.update_slice %x[%i] strides [1] in_bounds = %b : !v, tensor<1xf32> -> !v
  return %r : !v
}

// CHECK-LABEL: func.func @concat
// CHECK: tensor.empty
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
func.func @concat(%n: index, %x: !v) -> tensor<?xf32, #pmap.layout<["2*n"], []>> attributes {pmap.sizes = ["n"]} {
  %r = pmap.concat %x, %x dim 0 : (!v, !v) -> tensor<?xf32, #pmap.layout<["2*n"], []>>
  return %r : tensor<?xf32, #pmap.layout<["2*n"], []>>
}

// The end of the array, then its beginning; no index is computed per element.
// CHECK-LABEL: func.func @rotate
// CHECK: %[[REST:.*]] = arith.remsi
// CHECK: %[[BEGIN:.*]] = arith.select
// CHECK: %[[LEFT:.*]] = arith.subi %arg0, %[[BEGIN]]
// CHECK: %[[END:.*]] = tensor.extract_slice %arg2[%[[BEGIN]]] [%[[LEFT]]] [1]
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[END]] into %{{.*}}[0] [%[[LEFT]]] [1]
// CHECK: %[[START:.*]] = tensor.extract_slice %arg2[0] [%[[BEGIN]]] [1]
// CHECK: tensor.insert_slice %[[START]] into %[[FIRST]][%[[LEFT]]] [%[[BEGIN]]] [1]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @rotate(%n: index, %k: index, %x: !v) -> !v attributes {pmap.sizes = ["n"]} {
  %r = pmap.rotate %x by %k dim 0 : !v
  return %r : !v
}

// CHECK-LABEL: func.func @literal
// CHECK: tensor.from_elements %arg0, %arg1 : tensor<2xf32>
func.func @literal(%a: tensor<f32>, %b: tensor<f32>) -> tensor<2xf32> {
  %x = pmap.broadcast %a dims [] : tensor<f32> -> tensor<1xf32>
  %y = pmap.broadcast %b dims [] : tensor<f32> -> tensor<1xf32>
  %r = pmap.concat %x, %y dim 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @flatten
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
func.func @flatten(%n: index, %m: index, %x: !m) -> tensor<?xf32, #pmap.layout<["m*n"], []>> attributes {pmap.sizes = ["n", "m"]} {
  %r = pmap.reshape %x : !m -> tensor<?xf32, #pmap.layout<["m*n"], []>>
  return %r : tensor<?xf32, #pmap.layout<["m*n"], []>>
}

// A division in a size is checked where the size is used.
// CHECK-LABEL: func.func @halves
// CHECK: arith.divsi
// CHECK: arith.remsi
// CHECK: func.call @pmap_rt_fail
// CHECK: tensor.expand_shape
func.func @halves(%n: index, %x: !v) -> tensor<2x?xf32, #pmap.layout<["2", "(n)/(2)"], []>> attributes {pmap.sizes = ["n"]} {
  %r = pmap.reshape %x : !v -> tensor<2x?xf32, #pmap.layout<["2", "(n)/(2)"], []>>
  return %r : tensor<2x?xf32, #pmap.layout<["2", "(n)/(2)"], []>>
}

// Indices are checked by one reduction before the gather, which then reads without a check.
// CHECK-LABEL: func.func @gather
// CHECK: arith.maxui
// CHECK: func.call @pmap_rt_fail
// CHECK: scf.forall (%[[I:.*]]) in
// CHECK: %[[ROW:.*]] = tensor.extract_slice
// CHECK-NOT: pmap_rt_fail
// CHECK: tensor.parallel_insert_slice %[[ROW]] into %{{.*}}[%[[I]], 0]
func.func @gather(%n: index, %m: index, %k: index, %x: !m, %ids: tensor<?xi32, #pmap.layout<["k"], []>>) -> tensor<?x?xf32, #pmap.layout<["k", "m"], []>> attributes {pmap.sizes = ["n", "m", "k"]} {
  %r = pmap.gather %x, %ids dim 0 : !m, tensor<?xi32, #pmap.layout<["k"], []>> -> tensor<?x?xf32, #pmap.layout<["k", "m"], []>>
  return %r : tensor<?x?xf32, #pmap.layout<["k", "m"], []>>
}

// CHECK-LABEL: func.func @scatter
// CHECK: scf.for
// CHECK: tensor.extract_slice
// CHECK: tensor.insert_slice
func.func @scatter(%n: index, %m: index, %k: index, %x: !m, %ids: tensor<?xi32, #pmap.layout<["k"], []>>, %u: tensor<?x?xf32, #pmap.layout<["k", "m"], []>>) -> !m attributes {pmap.sizes = ["n", "m", "k"]} {
  %r = pmap.scatter sum %x, %ids, %u dim 0 : !m, tensor<?xi32, #pmap.layout<["k"], []>>, tensor<?x?xf32, #pmap.layout<["k", "m"], []>> -> !m
  return %r : !m
}

// A transpose that must be an array is made by the runtime.
// CHECK-LABEL: func.func @transpose
// CHECK: pmap_rt.call "pmap_rt_permute"{{.*}} ins(%{{.*}} : tensor<?x?xf32>) outs(%{{.*}} : tensor<?x?xf32>)
func.func @transpose(%n: index, %m: index, %x: !m) -> tensor<?x?xf32, #pmap.layout<["m", "n"], []>> attributes {pmap.sizes = ["n", "m"]} {
  %t = pmap.transpose %x perm [1, 0] : !m -> tensor<?x?xf32, #pmap.layout<["m", "n"], []>>
  return %t : tensor<?x?xf32, #pmap.layout<["m", "n"], []>>
}

// CHECK-LABEL: func.func @sorted
// CHECK: pmap_rt.call "pmap_rt_sort"
func.func @sorted(%n: index, %x: !v) -> !v attributes {pmap.sizes = ["n"]} {
  %r = pmap.sort %x dim 0 {descending} : !v
  return %r : !v
}

// Of an order of which only the beginning is used, only that is found, after the check that there is as much.
// CHECK-LABEL: func.func @first_of_order
// CHECK: func.call @pmap_rt_fail
// CHECK: pmap_rt.call "pmap_rt_sort"{{.*}} outs(%{{.*}} : tensor<3xi32>)
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @first_of_order(%n: index, %x: !v) -> tensor<3xi32> attributes {pmap.sizes = ["n"]} {
  %zero = arith.constant 0 : index
  %order = pmap.argsort %x dim 0 : !v -> tensor<?xi32, #pmap.layout<["n"], []>>
  %r = pmap.slice %order[%zero] strides [1] : tensor<?xi32, #pmap.layout<["n"], []>> -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// CHECK-LABEL: func.func @cast
// CHECK: arith.cmpi ne
// CHECK: func.call @pmap_rt_fail
func.func @cast(%n: index, %k: index, %x: !v) -> tensor<?xf32, #pmap.layout<["k"], []>> attributes {pmap.sizes = ["n", "k"]} {
  %r = pmap.cast %x : !v -> tensor<?xf32, #pmap.layout<["k"], []>>
  return %r : tensor<?xf32, #pmap.layout<["k"], []>>
}
