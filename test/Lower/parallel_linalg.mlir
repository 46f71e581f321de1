// RUN: %pmap-opt %s --pmap-to-linalg | FileCheck %s
// Maps, movements and collectives are runtime calls; a map's body is a function of its own.

#mesh = #pmap.mesh<["a"], [-1]>
!v = tensor<?xf32, #pmap.layout<["n"], []>>
!dv = !pmap.dist<!v, #pmap.spec<[["a"]]>, #mesh>

// CHECK: llvm.mlir.global internal constant @{{.*}}("mesh a=-1; size a ragged \22argument 'x', dimension 0\22; in f32 [a]; out f32 [a]; out f32 [];\00")

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = pmap_rt.call "pmap_rt_move_to_dist"(%{{.*}}) ins(%{{.*}} : tensor<?xf32>) -> !llvm.ptr
// CHECK: call @pmap_rt_map
// CHECK: call @pmap_rt_dist_release(%[[X]])
// CHECK: %[[H:.*]] = pmap_rt.call "pmap_rt_move_to_host"{{.*}} -> tensor<?xf32>
// CHECK: pmap_rt.call "pmap_rt_move_to_host"{{.*}} -> f32

// CHECK-LABEL: func.func @main.map0
// CHECK-SAME: (%[[K:.*]]: index, %[[B:.*]]: tensor<?xf32> {bufferization.writable = false}) -> (tensor<?xf32>, f32) attributes {pmap.device_body}
// CHECK: %[[S:.*]] = tensor.extract
// CHECK: %[[E:.*]] = tensor.empty(%[[K]])
// CHECK: pmap_rt.call "pmap_rt_all_reduce"{{.*}} ins(%[[B]], %[[S]] : tensor<?xf32>, f32) outs(%[[E]] : tensor<?xf32>) -> tensor<?xf32>, f32
// CHECK: llvm.func @main.map0.packed(!llvm.ptr)
func.func @main(%n: index, %x: !v) -> (!v, tensor<f32>) attributes {pmap.sizes = ["n"]} {
  %dx = pmap.move %x : !v to !dv
  %r:2 = pmap.map #mesh sizes (%n) [#pmap.size_arg<"k", ["a"], ragged, "argument 'x', dimension 0">] (%dx) : (!dv) -> (!dv, !pmap.dist<tensor<f32>, #pmap.spec<[]>, #mesh>) {
  ^bb0(%k: index, %b: tensor<?xf32, #pmap.layout<["k"], ["a"]>>):
    %s = pmap.reduce sum %b dims [0] : tensor<?xf32, #pmap.layout<["k"], ["a"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
    %p:2 = pmap.all_reduce sum (%s, %b) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>, tensor<?xf32, #pmap.layout<["k"], ["a"]>>) -> (tensor<f32>, tensor<?xf32, #pmap.layout<["k"], []>>)
    %w = pmap.widen %p#1 : tensor<?xf32, #pmap.layout<["k"], []>> to tensor<?xf32, #pmap.layout<["k"], ["a"]>>
    pmap.yield %w, %p#0 : tensor<?xf32, #pmap.layout<["k"], ["a"]>>, tensor<f32>
  }
  %h = pmap.move %r#0 : !dv to !v
  %s = pmap.move %r#1 : !pmap.dist<tensor<f32>, #pmap.spec<[]>, #mesh> to tensor<f32>
  return %h, %s : !v, tensor<f32>
}

// A value carried by a loop is released once per iteration, and handed over without a retain where the loop is its last use.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: pmap_rt_dist_retain
// CHECK: scf.for {{.*}} iter_args(%[[D:.*]] = %{{.*}}) -> (!llvm.ptr)
// CHECK: call @pmap_rt_map
// CHECK: call @pmap_rt_dist_release(%[[D]])
// CHECK: scf.yield
func.func @chain(%n: index, %steps: index, %x: !v) -> !v attributes {pmap.sizes = ["n", "steps"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %dx = pmap.move %x : !v to !dv
  %l = scf.for %i = %c0 to %steps step %c1 iter_args(%d = %dx) -> (!dv) {
    %r = pmap.map #mesh sizes (%n) [#pmap.size_arg<"k2", ["a"], "argument 'x', dimension 0">] (%d) : (!dv) -> (!dv) {
    ^bb0(%k: index, %b: tensor<?xf32, #pmap.layout<["k2"], ["a"]>>):
      %q = arith.addf %b, %b : tensor<?xf32, #pmap.layout<["k2"], ["a"]>>
      pmap.yield %q : tensor<?xf32, #pmap.layout<["k2"], ["a"]>>
    }
    scf.yield %r : !dv
  }
  %h = pmap.move %l : !dv to !v
  return %h : !v
}
