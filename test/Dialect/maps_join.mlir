// Maps that follow each other are one, and so is a loop around a map.
// RUN: %pmap-opt %s --split-input-file --pmap-simplify | FileCheck %s

!dist = !pmap.dist<tensor<?xf32, #pmap.layout<["n"], []>>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>
!vec = tensor<?xf32, #pmap.layout<["n"], []>>
!even = tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
!any = tensor<?xf32, #pmap.layout<["m"], ["a"]>>

// The second map takes its block as it is; its size is what the first one makes. What nobody else reads never leaves.
// CHECK-LABEL: func.func @chain
// CHECK: %[[X:.*]] = pmap.move
// CHECK: %[[Y:.*]] = pmap.map <["a"], [-1]> sizes{{.*}}](%[[X]])
// CHECK: %[[S:.*]] = math.sin %{{.*}} : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
// CHECK-NEXT: %[[C:.*]] = math.cos %[[S]] : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
// CHECK-NEXT: pmap.yield %[[C]]
// CHECK-NOT: pmap.map
func.func @chain(%n: index, %x: !vec) -> !vec attributes {pmap.sizes = ["n"]} {
  %0 = pmap.move %x : !vec to !dist
  %1 = pmap.map <["a"], [-1]> sizes(%n) [#pmap.size_arg<"n.1", ["a"], "">] (%0) : (!dist) -> !dist {
  ^bb0(%size: index, %b: !even):
    %5 = math.sin %b : !even
    pmap.yield %5 : !even
  }
  %2 = pmap.map <["a"], [-1]> sizes(%n) [#pmap.size_arg<"m", ["a"], ragged, "">] (%1) : (!dist) -> !dist {
  ^bb0(%size: index, %b: !any):
    %5 = math.cos %b : !any
    pmap.yield %5 : !any
  }
  %3 = pmap.move %2 : !dist to !vec
  return %3 : !vec
}

// -----
!dist = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
!one = !pmap.dist<tensor<f32>, #pmap.spec<[]>, #pmap.mesh<["a"], [2]>>
!block = tensor<2xf32, #pmap.layout<["2"], ["a"]>>
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>

// What the host makes of a sum, each device makes.
// CHECK-LABEL: func.func @scalar_between
// CHECK: pmap.map
// CHECK: pmap.all_reduce
// CHECK: math.exp %{{.*}} : tensor<f32>
// CHECK: arith.mulf
// CHECK-NOT: pmap.map
func.func @scalar_between(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pmap.move %x : tensor<4xf32> to !dist
  %1 = pmap.map <["a"], [2]> sizes() [] (%0) : (!dist) -> !one {
  ^bb0(%b: !block):
    %5 = pmap.reduce sum %b dims [0] : !block -> !scalar
    %6 = pmap.all_reduce sum (%5) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %6 : tensor<f32>
  }
  %2 = pmap.move %1 : !one to tensor<f32>
  %3 = math.exp %2 : tensor<f32>
  %4 = pmap.move %3 : tensor<f32> to !one
  %5 = pmap.map <["a"], [2]> sizes() [] (%0, %4) : (!dist, !one) -> !dist {
  ^bb0(%b: !block, %s: tensor<f32>):
    %7 = pmap.widen %s : tensor<f32> to !scalar
    %8 = pmap.broadcast %7 dims [] : !scalar -> !block
    %9 = arith.mulf %b, %8 : !block
    pmap.yield %9 : !block
  }
  %6 = pmap.move %5 : !dist to tensor<4xf32>
  return %6 : tensor<4xf32>
}

// -----
!dist = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
!block = tensor<2xf32, #pmap.layout<["2"], ["a"]>>

// The host gathers and looks at the value: two maps.
// CHECK-LABEL: func.func @host_looks
// CHECK: pmap.map
// CHECK: pmap.print
// CHECK: pmap.map
func.func @host_looks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pmap.move %x : tensor<4xf32> to !dist
  %1 = pmap.map <["a"], [2]> sizes() [] (%0) : (!dist) -> !dist {
  ^bb0(%b: !block):
    %5 = math.sin %b : !block
    pmap.yield %5 : !block
  }
  %2 = pmap.move %1 : !dist to tensor<4xf32>
  pmap.print "{}" (%2) ["f32"] : tensor<4xf32>
  %3 = pmap.map <["a"], [2]> sizes() [] (%1) : (!dist) -> !dist {
  ^bb0(%b: !block):
    %5 = math.cos %b : !block
    pmap.yield %5 : !block
  }
  %4 = pmap.move %3 : !dist to tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----
!dist = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
!one = !pmap.dist<tensor<f32>, #pmap.spec<[]>, #pmap.mesh<["a"], [2]>>
!block = tensor<2xf32, #pmap.layout<["2"], ["a"]>>
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>

// A `while` of the host, with its condition, is one of the devices.
// CHECK-LABEL: func.func @loop
// CHECK-NOT: scf.while
// CHECK: pmap.map
// CHECK: scf.while
// CHECK: arith.cmpf
// CHECK: scf.condition
// CHECK: pmap.all_reduce
// CHECK: scf.yield
// CHECK-NOT: pmap.map
// CHECK-NOT: scf.while
func.func @loop(%x: tensor<4xf32>, %bound: tensor<f32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = pmap.move %x : tensor<4xf32> to !dist
  %1:2 = scf.while (%y = %0, %s = %zero) : (!dist, tensor<f32>) -> (!dist, tensor<f32>) {
    %4 = arith.cmpf olt, %s, %bound : tensor<f32>
    %5 = pmap.to_bool %4 : tensor<i1>
    scf.condition(%5) %y, %s : !dist, tensor<f32>
  } do {
  ^bb0(%y: !dist, %s: tensor<f32>):
    %4:2 = pmap.map <["a"], [2]> sizes() [] (%y) : (!dist) -> (!dist, !one) {
    ^bb0(%b: !block):
      %7 = math.exp %b : !block
      %8 = pmap.reduce sum %7 dims [0] : !block -> !scalar
      %9 = pmap.all_reduce sum (%8) over ["a"] : (!scalar) -> tensor<f32>
      pmap.yield %7, %9 : !block, tensor<f32>
    }
    %5 = pmap.move %4#1 : !one to tensor<f32>
    %6 = arith.addf %s, %5 : tensor<f32>
    scf.yield %4#0, %6 : !dist, tensor<f32>
  }
  %2 = pmap.move %1#0 : !dist to tensor<4xf32>
  return %2 : tensor<4xf32>
}
