// What a map keeps for its backward one (G3, G5): contractions, reductions and collectives leave it as further results, and
// the backward map reads them. Where nothing lies between the two they become one map.
// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s

!w = tensor<?x?xf32, #pmap.layout<["d", "h"], []>>
!x = tensor<?x?xf32, #pmap.layout<["n", "d"], []>>
!y = tensor<?x?xf32, #pmap.layout<["n", "h"], []>>
!dw = !pmap.dist<!w, #pmap.spec<[[], []]>, #pmap.mesh<["a"], [-1]>>
!dx = !pmap.dist<!x, #pmap.spec<[["a"], []]>, #pmap.mesh<["a"], [-1]>>
!dy = !pmap.dist<!y, #pmap.spec<[["a"], []]>, #pmap.mesh<["a"], [-1]>>

// The host reads the result before there is a cotangent. The block of the contraction and the sum over the devices are
// kept, tanh is computed again.
// CHECK-LABEL: func.func @apart
// CHECK: %[[F:.*]]:3 = pmap.map
// CHECK-SAME: -> (!pmap.dist<tensor<?x?xf32, #pmap.layout<["n", "h"], []>>, <{{\[}}["a"], []]>, {{.*}}, !pmap.dist<tensor<?x?xf32, #pmap.layout<["n", "h"], []>>, <{{\[}}["a"], []]>, {{.*}}, !pmap.dist<tensor<f32>, <[]>
// CHECK: %[[DOT:.*]] = pmap.dot
// CHECK: math.tanh
// CHECK: %[[SUM:.*]] = pmap.all_reduce
// CHECK: pmap.yield %{{.*}}, %[[DOT]], %[[SUM]]
// CHECK: pmap.map
// CHECK-SAME: %[[F]]#1, %[[F]]#2)
// CHECK-NOT: contract [1] x [0]
// CHECK: math.tanh
// CHECK: pmap.dot %{{.*}} contract [0] x [0]
// CHECK: pmap.all_reduce sum
// CHECK-NOT: all_reduce
// CHECK: return
func.func @apart(%d: index, %h: index, %n: index, %w: !w, %x: !x) -> !w attributes {pmap.sizes = ["d", "h", "n"]} {
  %v, %g = pmap.grad (%w as %p : !w) wrt [0] {
    %0 = pmap.move %p : !w to !dw
    %1 = pmap.move %x : !x to !dx
    %2 = pmap.map #pmap.mesh<["a"], [-1]> sizes (%d, %h, %n) [#pmap.size_arg<"d.1", [], "">, #pmap.size_arg<"h.1", [], "">, #pmap.size_arg<"n.1", ["a"], ragged, "">] (%0, %1) : (!dw, !dx) -> !dy {
    ^bb0(%d1: index, %h1: index, %n1: index, %wb: tensor<?x?xf32, #pmap.layout<["d.1", "h.1"], []>>, %xb: tensor<?x?xf32, #pmap.layout<["n.1", "d.1"], ["a"]>>):
      %3 = pmap.widen %wb : tensor<?x?xf32, #pmap.layout<["d.1", "h.1"], []>> to tensor<?x?xf32, #pmap.layout<["d.1", "h.1"], ["a"]>>
      %4 = pmap.dot %xb, %3 batch [] x [] contract [1] x [0] : tensor<?x?xf32, #pmap.layout<["n.1", "d.1"], ["a"]>>, tensor<?x?xf32, #pmap.layout<["d.1", "h.1"], ["a"]>> -> tensor<?x?xf32, #pmap.layout<["n.1", "h.1"], ["a"]>>
      %5 = math.tanh %4 : tensor<?x?xf32, #pmap.layout<["n.1", "h.1"], ["a"]>>
      %6 = pmap.reduce sum %xb dims [0, 1] : tensor<?x?xf32, #pmap.layout<["n.1", "d.1"], ["a"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
      %7 = pmap.all_reduce sum (%6) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
      %8 = pmap.widen %7 : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
      %9 = pmap.broadcast %8 dims [] : tensor<f32, #pmap.layout<[], ["a"]>> -> tensor<?x?xf32, #pmap.layout<["n.1", "h.1"], ["a"]>>
      %10 = arith.mulf %5, %9 : tensor<?x?xf32, #pmap.layout<["n.1", "h.1"], ["a"]>>
      pmap.yield %10 : tensor<?x?xf32, #pmap.layout<["n.1", "h.1"], ["a"]>>
    }
    %11 = pmap.move %2 : !dy to !y
    %12 = arith.mulf %11, %11 : !y
    %13 = pmap.reduce sum %12 dims [0, 1] : !y -> tensor<f32>
    pmap.yield %13 : tensor<f32>
  } : tensor<f32>, !w
  return %g : !w
}

!one = !pmap.dist<tensor<f32>, #pmap.spec<[]>, #pmap.mesh<["a"], [-1]>>
!rows = tensor<?xf32, #pmap.layout<["n"], []>>
!drows = !pmap.dist<!rows, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>

// The loss is what the map gives: value and gradient are one map, with the collectives that one writes by hand.
// CHECK-LABEL: func.func @together
// CHECK-COUNT-1: pmap.map
// CHECK: pmap.all_reduce sum
// CHECK: pmap.all_reduce sum
// CHECK-NOT: all_reduce
// CHECK-NOT: pmap.map
// CHECK: return
func.func @together(%n: index, %w: tensor<f32>, %x: !rows) -> (tensor<f32>, tensor<f32>) attributes {pmap.sizes = ["n"]} {
  %v, %g = pmap.grad (%w as %p : tensor<f32>) wrt [0] {
    %0 = pmap.move %p : tensor<f32> to !one
    %1 = pmap.move %x : !rows to !drows
    %2 = pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"n.2", ["a"], "">] (%0, %1) : (!one, !drows) -> !one {
    ^bb0(%n1: index, %wb: tensor<f32>, %xb: tensor<?xf32, #pmap.layout<["n.2"], ["a"]>>):
      %3 = pmap.widen %wb : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
      %4 = pmap.broadcast %3 dims [] : tensor<f32, #pmap.layout<[], ["a"]>> -> tensor<?xf32, #pmap.layout<["n.2"], ["a"]>>
      %5 = arith.mulf %4, %xb : tensor<?xf32, #pmap.layout<["n.2"], ["a"]>>
      %6 = math.tanh %5 : tensor<?xf32, #pmap.layout<["n.2"], ["a"]>>
      %7 = pmap.reduce sum %6 dims [0] : tensor<?xf32, #pmap.layout<["n.2"], ["a"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
      %8 = pmap.all_reduce sum (%7) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
      %9 = math.exp %8 : tensor<f32>
      pmap.yield %9 : tensor<f32>
    }
    %10 = pmap.move %2 : !one to tensor<f32>
    pmap.yield %10 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %v, %g : tensor<f32>, tensor<f32>
}

// A forward computation whose pullback nobody calls keeps nothing.
// CHECK-LABEL: func.func @forward_only
// CHECK: pmap.map
// CHECK: pmap.yield %{{[0-9]+}} : tensor<f32>
// CHECK: return
func.func @forward_only(%n: index, %x: !rows) -> tensor<f32> attributes {pmap.sizes = ["n"]} {
  %y, %r = pmap.vjp wrt [0](%x) : (!rows) -> (tensor<f32>, !pmap.residuals) {
  ^bb0(%p: !rows):
    %0 = pmap.move %p : !rows to !drows
    %1 = pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"n.6", ["a"], "">] (%0) : (!drows) -> !one {
    ^bb0(%n1: index, %xb: tensor<?xf32, #pmap.layout<["n.6"], ["a"]>>):
      %2 = pmap.reduce sum %xb dims [0] : tensor<?xf32, #pmap.layout<["n.6"], ["a"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
      %3 = pmap.all_reduce sum (%2) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
      %4 = math.exp %3 : tensor<f32>
      pmap.yield %4 : tensor<f32>
    }
    %5 = pmap.move %1 : !one to tensor<f32>
    pmap.yield %5 : tensor<f32>
  }
  return %y : tensor<f32>
}
