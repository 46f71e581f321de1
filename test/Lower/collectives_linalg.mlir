// RUN: %pmap-opt %s --pmap-to-linalg | FileCheck %s
// Collectives are calls of the runtime; a table says who meets: how many axes, which, how many groups, the groups.

#mesh = #pmap.mesh<["a", "b"], [2, -1]>
!block = tensor<4x6xf32, #pmap.layout<["4", "6"], ["a", "b"]>>
!whole = !pmap.dist<tensor<?x6xf32, #pmap.layout<["8*@b", "6"], []>>, #pmap.spec<[["a", "b"], []]>, #mesh>

// Sums run in the order of ranks, whatever the order of the axes (C1) or of a group's members.
// CHECK-DAG: llvm.mlir.global internal constant @[[BOTH:.*]](dense<[2, 0, 1, 0]>
// CHECK-DAG: llvm.mlir.global internal constant @[[SWAPPED:.*]](dense<[2, 1, 0, 0]>
// CHECK-DAG: llvm.mlir.global internal constant @[[SORTED:.*]](dense<[1, 0, 1, 2, 0, 1]>
// CHECK-DAG: llvm.mlir.global internal constant @[[NAMED:.*]](dense<[1, 0, 1, 2, 1, 0]>

// CHECK-LABEL: func.func @main.map0
func.func @main(%x: !whole) -> !whole {
  %r = pmap.map #mesh sizes () [] (%x) : (!whole) -> (!whole) {
  ^bb0(%b: !block):
    // CHECK: %[[T:.*]] = llvm.mlir.addressof @[[BOTH]]
    // CHECK: pmap_rt.call "pmap_rt_all_reduce"(%{{.*}}, %[[T]], %{{.*}}, %{{.*}} :
    %0 = pmap.all_reduce sum (%b) over ["b", "a"] : (!block) -> tensor<4x6xf32>
    // CHECK: %[[T:.*]] = llvm.mlir.addressof @[[SORTED]]
    // CHECK: pmap_rt.call "pmap_rt_all_reduce"(%{{.*}}, %[[T]],
    %1 = pmap.all_reduce sum (%b) over ["a"] groups [array<i64: 1, 0>] : (!block) -> !block
    // CHECK: %[[T:.*]] = llvm.mlir.addressof @[[SWAPPED]]
    // CHECK: pmap_rt.call "pmap_rt_all_gather"(%{{.*}}, %[[T]],
    %2 = pmap.all_gather %b over ["b", "a"] dim 1 tiled : !block -> tensor<4x?xf32, #pmap.layout<["4", "6*@a*@b"], []>>
    // CHECK: %[[T:.*]] = llvm.mlir.addressof @[[NAMED]]
    // CHECK: %[[S:.*]] = pmap_rt.call "pmap_rt_reduce_scatter"(%{{.*}}, %[[T]], %{{.*}}) ins(%{{.*}} : tensor<4x6xf32>) outs(%{{.*}} : tensor<2x6xf32>)
    %3 = pmap.reduce_scatter %1 over ["a"] dim 0 groups [array<i64: 1, 0>]
      : !block -> tensor<2x6xf32, #pmap.layout<["2", "6"], ["a", "b"]>>
    // CHECK: pmap_rt.call "pmap_rt_all_to_all"{{.*}} ins(%[[S]] : tensor<2x6xf32>) outs(%{{.*}} : tensor<4x3xf32>)
    %4 = pmap.all_to_all %3 over ["a"] split 1 concat 0 groups [array<i64: 1, 0>]
      : tensor<2x6xf32, #pmap.layout<["2", "6"], ["a", "b"]>> -> tensor<4x3xf32, #pmap.layout<["4", "3"], ["a", "b"]>>
    %to = arith.constant dense<[1, 0]> : tensor<2xi32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    // CHECK: pmap_rt.call "pmap_rt_send"{{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<2xi32>, f32) outs(%{{.*}} : tensor<4x6xf32>)
    %5 = pmap.permute %1 to %to fill %zero over ["a"] : !block, tensor<2xi32>, tensor<f32> -> !block
    pmap.yield %5 : !block
  }
  return %r : !whole
}
