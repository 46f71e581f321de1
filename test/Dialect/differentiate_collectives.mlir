// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s
// The transposes of the collectives that move arrays (G2).

!local = tensor<?xf32, #pmap.layout<["n"], ["a"]>>
!whole = tensor<?xf32, #pmap.layout<["@a*n"], ["a"]>>
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>

// psum_scatter <-> all_gather.
// CHECK-LABEL: func.func @reduce_scatter
// CHECK: %[[G:.*]] = pmap.all_gather %{{.*}} over ["a"] dim 0 tiled : tensor<?xf32, #pmap.layout<["n"], ["a"]>> -> tensor<?xf32, #pmap.layout<["@a*n"], []>>
// CHECK: %[[W:.*]] = pmap.widen %[[G]]
// CHECK: return %[[W]]
func.func @reduce_scatter(%x: !whole, %c: !local) -> !whole {
  %v, %g = pmap.grad (%x as %b : !whole) wrt [0] {
    %0 = pmap.reduce_scatter %b over ["a"] dim 0 : !whole -> !local
    %1 = arith.mulf %0, %c : !local
    %2 = pmap.reduce sum %1 dims [0] : !local -> !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, !whole
  return %g : !whole
}

// With groups every member has a cotangent of the whole.
// CHECK-LABEL: func.func @all_gather_groups
// CHECK: %[[G:.*]] = pmap.reduce_scatter %{{.*}} over ["a"] dim 0 groups [array<i64: 0, 2>, array<i64: 1, 3>]
// CHECK: return %[[G]]
func.func @all_gather_groups(%x: !local, %c: tensor<?xf32, #pmap.layout<["2*n"], ["a"]>>) -> !local {
  %v, %g = pmap.grad (%x as %b : !local) wrt [0] {
    %0 = pmap.all_gather %b over ["a"] dim 0 tiled groups [array<i64: 0, 2>, array<i64: 1, 3>] : !local -> tensor<?xf32, #pmap.layout<["2*n"], ["a"]>>
    %1 = arith.mulf %0, %c : tensor<?xf32, #pmap.layout<["2*n"], ["a"]>>
    %2 = pmap.reduce sum %1 dims [0] : tensor<?xf32, #pmap.layout<["2*n"], ["a"]>> -> !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, !local
  return %g : !local
}

// all_to_all swaps split and concat.
// CHECK-LABEL: func.func @all_to_all
// CHECK: %[[G:.*]] = pmap.all_to_all %{{.*}} over ["a"] split 1 concat 0
// CHECK: return %[[G]]
func.func @all_to_all(%x: tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>>, %c: tensor<?x?xf32, #pmap.layout<["n", "3*@a"], ["a"]>>) -> tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>> {
  %v, %g = pmap.grad (%x as %b : tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>>) wrt [0] {
    %0 = pmap.all_to_all %b over ["a"] split 0 concat 1 : tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>> -> tensor<?x?xf32, #pmap.layout<["n", "3*@a"], ["a"]>>
    %1 = arith.mulf %0, %c : tensor<?x?xf32, #pmap.layout<["n", "3*@a"], ["a"]>>
    %2 = pmap.reduce sum %1 dims [0, 1] : tensor<?x?xf32, #pmap.layout<["n", "3*@a"], ["a"]>> -> !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>>
  return %g : tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>>
}

// A permutation that is known is inverted here; what nobody receives has a cotangent of zero.
// CHECK-LABEL: func.func @permute(
// CHECK-DAG: %[[TO:.*]] = arith.constant dense<[2, 0, -1]> : tensor<3xi32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[G:.*]] = pmap.permute %{{.*}} to %[[TO]] fill %[[ZERO]] over ["a"]
// CHECK: return %[[G]]
func.func @permute(%x: !local, %c: !local) -> !local {
  %to = arith.constant dense<[1, -1, 0]> : tensor<3xi32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %v, %g = pmap.grad (%x as %b : !local) wrt [0] {
    %0 = pmap.permute %b to %to fill %zero over ["a"] : !local, tensor<3xi32>, tensor<f32> -> !local
    %1 = arith.mulf %0, %c : !local
    %2 = pmap.reduce sum %1 dims [0] : !local -> !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, !local
  return %g : !local
}

// One that only the run knows is inverted there; the fill takes the cotangents of the devices that received nothing.
// CHECK-LABEL: func.func @permute_fill
// CHECK: %[[FROM:.*]] = pmap.reduce max %{{.*}} dims [0] : tensor<?x?xi32, #pmap.layout<["@a", "@a"], []>>
// CHECK: %[[G:.*]] = pmap.permute %{{.*}} to %[[FROM]]
// CHECK: %[[RECEIVED:.*]] = arith.cmpi sge
// CHECK: %[[FILLED:.*]] = arith.select %[[RECEIVED]], %{{.*}}, %{{.*}} : tensor<i1, #pmap.layout<[], ["a"]>>
// CHECK: %[[H:.*]] = pmap.all_reduce sum(%[[FILLED]]) over ["a"]
// CHECK: return %[[G]], %[[H]]
func.func @permute_fill(%x: !local, %to: tensor<?xi32, #pmap.layout<["@a"], []>>, %s: tensor<f32>) -> (!local, tensor<f32>) {
  %v, %g, %h = pmap.grad (%x as %b : !local, %s as %fill : tensor<f32>) wrt [0, 1] {
    %0 = pmap.permute %b to %to fill %fill over ["a"] : !local, tensor<?xi32, #pmap.layout<["@a"], []>>, tensor<f32> -> !local
    %1 = arith.mulf %0, %0 : !local
    %2 = pmap.reduce sum %1 dims [0] : !local -> !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, !local, tensor<f32>
  return %g, %h : !local, tensor<f32>
}
