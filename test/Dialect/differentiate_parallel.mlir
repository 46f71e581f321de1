// Collectives and their transposes (G2).
// RUN: %pmap-opt %s --pmap-transform --pmap-simplify --pmap-fuse-collectives | FileCheck %s

!local = tensor<?xf32, #pmap.layout<["n"], ["a"]>>
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>

// F2: the gradient of psum(loss) by a replicated w is summed once, by the transpose of the widen.
// CHECK-LABEL: func.func @psum
// CHECK-SAME: %[[W:.*]]: tensor<f32>, %[[D:.*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @psum(%w: tensor<f32>, %d: !scalar) -> tensor<f32> {
  // CHECK: %[[G:.*]] = pmap.all_reduce sum(%{{.*}}) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
  // CHECK-NOT: all_reduce
  // CHECK: return %[[G]] : tensor<f32>
  %v, %g = pmap.grad (%w as %a : tensor<f32>) wrt [0] {
    %0 = pmap.widen %a : tensor<f32> to !scalar
    %1 = arith.mulf %0, %0 : !scalar
    %2 = arith.mulf %1, %d : !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// The psums of two parameters' gradients travel together (C4).
// CHECK-LABEL: func.func @two_parameters
func.func @two_parameters(%w: tensor<f32>, %b: tensor<f32>, %x: !scalar) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[G:.*]]:2 = pmap.all_reduce sum(%{{.*}}, %{{.*}}) over ["a"]
  // CHECK-NOT: all_reduce
  // CHECK: return %[[G]]#{{[01]}}, %[[G]]#{{[01]}}
  %v, %gw, %gb = pmap.grad (%w as %p : tensor<f32>, %b as %q : tensor<f32>) wrt [0, 1] {
    %0 = pmap.widen %p : tensor<f32> to !scalar
    %1 = pmap.widen %q : tensor<f32> to !scalar
    %2 = arith.mulf %0, %x : !scalar
    %3 = arith.addf %2, %1 : !scalar
    %4 = math.exp %3 : !scalar
    %5 = pmap.all_reduce sum (%4) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %5 : tensor<f32>
  } : tensor<f32>, tensor<f32>, tensor<f32>
  return %gw, %gb : tensor<f32>, tensor<f32>
}

// V8: a psum of what does not vary multiplies; so does its transpose.
// CHECK-LABEL: func.func @psum_of_invariant
func.func @psum_of_invariant(%w: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[N:.*]] = pmap.size "@a"
  // CHECK: %[[F:.*]] = pmap.from_index %[[N]] : tensor<f32>
  // CHECK: return %[[F]]
  %v, %g = pmap.grad (%w as %a : tensor<f32>) wrt [0] {
    %0 = pmap.all_reduce sum (%a) over ["a"] : (tensor<f32>) -> tensor<f32>
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// F8: the devices that hold the maximum share the cotangent equally.
// CHECK-LABEL: func.func @pmax
// CHECK-SAME: %[[X:.*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @pmax(%x: !scalar) -> !scalar {
  // CHECK: %[[M:.*]] = pmap.all_reduce max(%[[X]]) over ["a"]
  // CHECK: %[[W:.*]] = pmap.widen %[[M]]
  // CHECK: %[[C:.*]] = arith.cmpf oeq, %[[X]], %[[W]]
  // CHECK: %[[WINS:.*]] = arith.select %[[C]]
  // CHECK: %[[COUNT:.*]] = pmap.all_reduce sum(%[[WINS]]) over ["a"]
  // CHECK: arith.divf %[[WINS]]
  %v, %g = pmap.grad (%x as %a : !scalar) wrt [0] {
    %0 = pmap.all_reduce max (%a) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, !scalar
  return %g : !scalar
}

// all_gather <-> the device's own slice.
// CHECK-LABEL: func.func @all_gather
func.func @all_gather(%x: !local) -> !local {
  // CHECK: %[[R:.*]] = pmap.axis_index "a"
  // CHECK: %[[I:.*]] = pmap.to_index %[[R]]
  // CHECK: %[[N:.*]] = pmap.size "n"
  // CHECK: %[[AT:.*]] = arith.muli %[[I]], %[[N]]
  // CHECK: pmap.slice %{{.*}}[%[[AT]]] strides [1] in_bounds
  %v, %g = pmap.grad (%x as %a : !local) wrt [0] {
    %0 = pmap.all_gather %a over ["a"] dim 0 tiled : !local -> tensor<?xf32, #pmap.layout<["@a*n"], []>>
    %1 = arith.mulf %0, %0 : tensor<?xf32, #pmap.layout<["@a*n"], []>>
    %2 = pmap.reduce sum %1 dims [0] : tensor<?xf32, #pmap.layout<["@a*n"], []>> -> tensor<f32>
    pmap.yield %2 : tensor<f32>
  } : tensor<f32>, !local
  return %g : !local
}

!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
!copy = !pmap.dist<tensor<f32>, #pmap.spec<[]>, #pmap.mesh<["a"], [2]>>

// G3, F21: through a map; the cotangent of a replicated input is summed inside. The forward map is gone, for nobody reads its result.
// CHECK-LABEL: func.func @through_map
func.func @through_map(%w: tensor<f32>, %x: tensor<4xf32>) -> tensor<f32> {
  // CHECK: pmap.map <["a"], [2]> sizes() [](%{{[0-9]+}}) : (!pmap.dist<tensor<4xf32>, {{.*}}>)
  // CHECK: %[[G:.*]] = pmap.all_reduce sum(%{{.*}}) over ["a"]
  // CHECK: pmap.yield %[[G]] : tensor<f32>
  %v, %g = pmap.grad (%w as %a : tensor<f32>) wrt [0] {
    %0 = pmap.move %a : tensor<f32> to !copy
    %1 = pmap.move %x : tensor<4xf32> to !whole
    %2 = pmap.map #pmap.mesh<["a"], [2]> sizes () [] (%0, %1) : (!copy, !whole) -> (!copy) {
    ^bb0(%p: tensor<f32>, %b: tensor<2xf32, #pmap.layout<["2"], ["a"]>>):
      %3 = pmap.reduce sum %b dims [0] : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> !scalar
      %4 = pmap.widen %p : tensor<f32> to !scalar
      %5 = arith.mulf %3, %4 : !scalar
      %6 = pmap.all_reduce sum (%5) over ["a"] : (!scalar) -> tensor<f32>
      pmap.yield %6 : tensor<f32>
    }
    %7 = pmap.move %2 : !copy to tensor<f32>
    pmap.yield %7 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// A loop that calls devices is a loop of the devices, and what it keeps is a stack of blocks.
!dist = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
!block = tensor<2xf32, #pmap.layout<["2"], ["a"]>>
// CHECK-LABEL: func.func @loop_of_devices
func.func @loop_of_devices(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // CHECK-NOT: scf.for
  // CHECK: pmap.map
  // CHECK: scf.for {{.*}} -> (tensor<2xf32, {{.*}}, tensor<?x2xf32, #pmap.layout<["trips.1", "2"], ["a"]>>)
  // CHECK: math.sin
  // CHECK: scf.for {{.*}} -> (tensor<2xf32, #pmap.layout<["2"], ["a"]>>)
  // CHECK: math.cos
  // CHECK-NOT: scf.for
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %g = pmap.grad (%x as %a : tensor<4xf32>) wrt [0] {
    %0 = pmap.move %a : tensor<4xf32> to !dist
    %1 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %0) -> (!dist) {
      %4 = pmap.map <["a"], [2]> sizes() [] (%y) : (!dist) -> !dist {
      ^bb0(%b: !block):
        %5 = math.sin %b : !block
        pmap.yield %5 : !block
      }
      scf.yield %4 : !dist
    }
    %2 = pmap.move %1 : !dist to tensor<4xf32>
    %3 = pmap.reduce sum %2 dims [0] : tensor<4xf32> -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}

// P5, G3: one whose trips wait for the host keeps a distributed value that it carries whole for each trip, and pulls
// distributed cotangents back.
// CHECK-LABEL: func.func @distributed_loop
func.func @distributed_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // CHECK: scf.for {{.*}} -> (!pmap.dist<{{.*}}, tensor<?x4xf32
  // CHECK: scf.for {{.*}} -> (!pmap.dist<
  // CHECK: pmap.map
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %g = pmap.grad (%x as %a : tensor<4xf32>) wrt [0] {
    %0 = pmap.move %a : tensor<4xf32> to !dist
    %1 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %0) -> (!dist) {
      %4 = pmap.map <["a"], [2]> sizes() [] (%y) : (!dist) -> !dist {
      ^bb0(%b: !block):
        %5 = math.sin %b : !block
        pmap.yield %5 : !block
      }
      %whole = pmap.move %4 : !dist to tensor<4xf32>
      pmap.print "{}" (%whole) ["f32"] : tensor<4xf32>
      scf.yield %4 : !dist
    }
    %2 = pmap.move %1 : !dist to tensor<4xf32>
    %3 = pmap.reduce sum %2 dims [0] : tensor<4xf32> -> tensor<f32>
    pmap.yield %3 : tensor<f32>
  } : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}
