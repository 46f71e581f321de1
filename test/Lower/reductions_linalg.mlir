// RUN: %pmap-opt %s --pmap-to-linalg | FileCheck %s
// Reductions and contractions are generics into a filled accumulator.

!v = tensor<?xf32, #pmap.layout<["n"], []>>
!m = tensor<?x?xf32, #pmap.layout<["n", "m"], []>>

// CHECK-LABEL: func.func @rows
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[INIT:.*]] = linalg.fill ins(%[[INF]]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<?x?xf32>) outs(%[[INIT]]
// CHECK: arith.maximumf
func.func @rows(%n: index, %m: index, %x: !m) -> !v attributes {pmap.sizes = ["n", "m"]} {
  %r = pmap.reduce max %x dims [1] : !m -> !v
  return %r : !v
}

// CHECK-LABEL: func.func @whole
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<?xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: %[[S:.*]] = tensor.extract %{{.*}}[] : tensor<f32>
// CHECK: return %[[S]] : f32
func.func @whole(%n: index, %x: !v) -> tensor<f32> attributes {pmap.sizes = ["n"]} {
  %r = pmap.reduce sum %x dims [0] : !v -> tensor<f32>
  return %r : tensor<f32>
}

// f16 accumulates in f32.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @half(%n: index, %x: tensor<?xf16, #pmap.layout<["n"], []>>) -> tensor<f16> attributes {pmap.sizes = ["n"]} {
  %r = pmap.reduce sum %x dims [0] : tensor<?xf16, #pmap.layout<["n"], []>> -> tensor<f16>
  return %r : tensor<f16>
}

// x @ x.T: the transpose is an operand map of the contraction.
// CHECK-LABEL: func.func @dot
// CHECK: linalg.generic {indexing_maps = [#[[L:.*]], #[[R:.*]], #[[O:.*]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X:.*]], %[[X]] :
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @dot(%n: index, %m: index, %x: !m) -> tensor<?x?xf32, #pmap.layout<["n", "n"], []>> attributes {pmap.sizes = ["n", "m"]} {
  %t = pmap.transpose %x perm [1, 0] : !m -> tensor<?x?xf32, #pmap.layout<["m", "n"], []>>
  %p = pmap.dot %x, %t batch [] x [] contract [1] x [0] : !m, tensor<?x?xf32, #pmap.layout<["m", "n"], []>> -> tensor<?x?xf32, #pmap.layout<["n", "n"], []>>
  return %p : tensor<?x?xf32, #pmap.layout<["n", "n"], []>>
}

// The extremum, then its lowest position; an empty array is an error.
// CHECK-LABEL: func.func @argmin
// CHECK: func.call @pmap_rt_fail
// CHECK: arith.minimumf
// CHECK: linalg.index 0
// CHECK: arith.minsi
func.func @argmin(%n: index, %x: !v) -> tensor<i32> attributes {pmap.sizes = ["n"]} {
  %r = pmap.arg_reduce min %x dim 0 : !v -> tensor<i32>
  return %r : tensor<i32>
}

// CHECK-LABEL: func.func @scan
// CHECK: scf.for
// CHECK: tensor.extract_slice
// CHECK: linalg.generic
// CHECK: tensor.insert_slice
func.func @scan(%n: index, %m: index, %x: !m) -> !m attributes {pmap.sizes = ["n", "m"]} {
  %r = pmap.scan sum %x dim 0 : !m
  return %r : !m
}

// Along the last dimension the runtime scans the lines.
// CHECK-LABEL: func.func @scan_rows
// CHECK: pmap_rt.call "pmap_rt_scan"
// CHECK-SAME: ins(%arg2 : tensor<?x?xf32>)
func.func @scan_rows(%n: index, %m: index, %x: !m) -> !m attributes {pmap.sizes = ["n", "m"]} {
  %r = pmap.scan sum %x dim 1 : !m
  return %r : !m
}
