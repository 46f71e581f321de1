// RUN: %pmap-opt %s --pmap-to-linalg | FileCheck %s
// Elementwise ops are generics; scalars are scalars, and broadcasts live in the operands' maps.

!v = tensor<?xf32, #pmap.layout<["n"], []>>
!m = tensor<?x?xf32, #pmap.layout<["n", "m"], []>>

// CHECK-LABEL: func.func @scalar(%arg0: f32) -> f32
// CHECK: math.exp %arg0 : f32
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %e = math.exp %x : tensor<f32>
  return %e : tensor<f32>
}

// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index, %[[X:.*]]: tensor<?x?xf32> {bufferization.writable = false}, %[[Y:.*]]: tensor<?xf32> {{.*}}, %[[S:.*]]: f32)
// CHECK: %[[E:.*]] = tensor.empty(%[[N]], %[[M]]) : tensor<?x?xf32>
// CHECK: linalg.generic {indexing_maps = [#[[ID:.*]], #[[ROW:.*]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[Y]] :
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xf32>)
// CHECK: arith.mulf %{{.*}}, %[[S]] : f32
// CHECK-NOT: linalg.generic
func.func @broadcast(%n: index, %m: index, %x: !m, %y: !v, %s: tensor<f32>) -> !m attributes {pmap.sizes = ["n", "m"]} {
  %b = pmap.broadcast %y dims [0] : !v -> !m
  %z = arith.addf %x, %b : !m
  %c = pmap.broadcast %s dims [] : tensor<f32> -> !m
  %r = arith.mulf %z, %c : !m
  return %r : !m
}

// Ops on a transposed array follow the order of its memory, and so does a reduction after them: nothing is permuted.
// CHECK-LABEL: func.func @transposed
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : tensor<?x?xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #{{.*}}], iterator_types = ["parallel", "reduction"]}
// CHECK-NOT: pmap_rt_permute
func.func @transposed(%n: index, %m: index, %x: !m) -> !v attributes {pmap.sizes = ["n", "m"]} {
  %t = pmap.transpose %x perm [1, 0] : !m -> tensor<?x?xf32, #pmap.layout<["m", "n"], []>>
  %a = math.absf %t : tensor<?x?xf32, #pmap.layout<["m", "n"], []>>
  %r = pmap.reduce sum %a dims [0] : tensor<?x?xf32, #pmap.layout<["m", "n"], []>> -> !v
  return %r : !v
}

// Where orders differ, the transposed array is put in order first.
// CHECK-LABEL: func.func @mixed
// CHECK: %[[T:.*]] = pmap_rt.call "pmap_rt_permute"
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]], #[[ID]]], {{.*}} ins(%[[T]], %{{.*}} :
func.func @mixed(%n: index, %x: tensor<?x?xf32, #pmap.layout<["n", "n"], []>>) -> tensor<?x?xf32, #pmap.layout<["n", "n"], []>> attributes {pmap.sizes = ["n"]} {
  %t = pmap.transpose %x perm [1, 0] : tensor<?x?xf32, #pmap.layout<["n", "n"], []>> -> tensor<?x?xf32, #pmap.layout<["n", "n"], []>>
  %r = arith.addf %t, %x : tensor<?x?xf32, #pmap.layout<["n", "n"], []>>
  return %r : tensor<?x?xf32, #pmap.layout<["n", "n"], []>>
}

// Arrays of bool are stored as bytes; scalars stay i1.
// CHECK-LABEL: func.func @bools
// CHECK-SAME: tensor<?xi8>
// CHECK-SAME: i1) -> tensor<?xi8>
// CHECK: arith.trunci %{{.*}} : i8 to i1
// CHECK: arith.andi %{{.*}} : i1
// CHECK: arith.extui %{{.*}} : i1 to i8
func.func @bools(%n: index, %x: tensor<?xi1, #pmap.layout<["n"], []>>, %c: tensor<i1>) -> tensor<?xi1, #pmap.layout<["n"], []>> attributes {pmap.sizes = ["n"]} {
  %b = pmap.broadcast %c dims [] : tensor<i1> -> tensor<?xi1, #pmap.layout<["n"], []>>
  %r = arith.andi %x, %b : tensor<?xi1, #pmap.layout<["n"], []>>
  return %r : tensor<?xi1, #pmap.layout<["n"], []>>
}

// Every divisor is checked, before the loop; INT_MIN / -1 does not trap.
// CHECK-LABEL: func.func @division
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK: arith.minui
// CHECK: scf.if
// CHECK: func.call @pmap_rt_fail
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK: arith.cmpi eq
// CHECK: arith.select
// CHECK: arith.divsi
func.func @division(%n: index, %x: tensor<?xi32, #pmap.layout<["n"], []>>) -> tensor<?xi32, #pmap.layout<["n"], []>> attributes {pmap.sizes = ["n"]} {
  %r = arith.divsi %x, %x : tensor<?xi32, #pmap.layout<["n"], []>>
  return %r : tensor<?xi32, #pmap.layout<["n"], []>>
}
