// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s
// P8: what can be done for all rows at once is the program that one would write for whole arrays.

!rows = tensor<?x3xf32, #pmap.layout<["n", "3"], []>>
!row = tensor<3xf32, #pmap.layout<["3"], ["i"]>>
!one = tensor<f32, #pmap.layout<[], ["i"]>>
!ones = tensor<?xf32, #pmap.layout<["n"], []>>

// Elementwise ops and reductions, and what the rows do not touch, which moves out as it is.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32, #[[L:.*]]>, %[[Y:[a-z0-9]+]]: tensor<f32>)
func.func @elementwise(%n: index, %x: !rows, %y: tensor<f32>) -> (!ones, tensor<f32>) attributes {pmap.sizes = ["n"]} {
  // CHECK-NEXT: %[[SIN:.*]] = math.sin %[[X]]
  // CHECK-NEXT: %[[SUM:.*]] = pmap.reduce sum %[[SIN]] dims [1]
  // CHECK-NEXT: %[[EXP:.*]] = math.exp %[[Y]] : tensor<f32>
  // CHECK-NEXT: return %[[SUM]], %[[EXP]]
  %0:2 = pmap.vmap "i" size "n"(%x) : (!rows) -> (!ones, tensor<f32>) {
  ^bb0(%r: !row):
    %s = math.sin %r : !row
    %t = pmap.reduce sum %s dims [0] : !row -> !one
    %e = math.exp %y : tensor<f32>
    pmap.yield %t, %e : !one, tensor<f32>
  }
  return %0#0, %0#1 : !ones, tensor<f32>
}

// Vectors times a captured matrix are one matrix product.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32, #{{.*}}>, %[[W:[a-z0-9]+]]: tensor<3x4xf32>)
func.func @product(%n: index, %x: !rows, %w: tensor<3x4xf32>) -> tensor<?x4xf32, #pmap.layout<["n", "4"], []>> attributes {pmap.sizes = ["n"]} {
  // CHECK-NEXT: %[[P:.*]] = pmap.dot %[[X]], %[[W]] batch [] x [] contract [1] x [0]
  // CHECK-NEXT: return %[[P]]
  %0 = pmap.vmap "i" size "n"(%x) : (!rows) -> tensor<?x4xf32, #pmap.layout<["n", "4"], []>> {
  ^bb0(%r: !row):
    %v = pmap.widen %w : tensor<3x4xf32> to tensor<3x4xf32, #pmap.layout<["3", "4"], ["i"]>>
    %p = pmap.dot %r, %v batch [] x [] contract [0] x [0] : !row, tensor<3x4xf32, #pmap.layout<["3", "4"], ["i"]>> -> tensor<4xf32, #pmap.layout<["4"], ["i"]>>
    pmap.yield %p : tensor<4xf32, #pmap.layout<["4"], ["i"]>>
  }
  return %0 : tensor<?x4xf32, #pmap.layout<["n", "4"], []>>
}

// A collective over the rows is a reduction; the size of the axis is the number of rows, and positions are an iota.
// CHECK-LABEL: func.func @collectives
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32, #{{.*}}>)
func.func @collectives(%n: index, %x: !rows) -> (tensor<3xf32>, tensor<f32>, tensor<?xi32, #pmap.layout<["n"], []>>) attributes {pmap.sizes = ["n"]} {
  // CHECK-DAG: %[[SUM:.*]] = pmap.reduce sum %[[X]] dims [0]
  // CHECK-DAG: %[[N:.*]] = pmap.size "n"
  // CHECK-DAG: %[[SIZE:.*]] = pmap.from_index %[[N]]
  // CHECK-DAG: %[[INDEX:.*]] = pmap.iota dim 0
  // CHECK: return %[[SUM]], %[[SIZE]], %[[INDEX]]
  %0:3 = pmap.vmap "i" size "n"(%x) : (!rows) -> (tensor<3xf32>, tensor<f32>, tensor<?xi32, #pmap.layout<["n"], []>>) {
  ^bb0(%r: !row):
    %s = pmap.all_reduce sum(%r) over ["i"] : (!row) -> tensor<3xf32>
    %k = pmap.axis_size "i"
    %f = pmap.from_index %k : tensor<f32>
    %p = pmap.axis_index "i" : tensor<i32, #pmap.layout<[], ["i"]>>
    pmap.yield %s, %f, %p : tensor<3xf32>, tensor<f32>, tensor<i32, #pmap.layout<[], ["i"]>>
  }
  return %0#0, %0#1, %0#2 : tensor<3xf32>, tensor<f32>, tensor<?xi32, #pmap.layout<["n"], []>>
}

// An assert holds for every row.
// CHECK-LABEL: func.func @asserts
func.func @asserts(%n: index, %x: tensor<?xi1, #pmap.layout<["n"], []>>) attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[ALL:.*]] = pmap.reduce and %{{.*}} dims [0]
  // CHECK-NEXT: pmap.assert %[[ALL]], "each"
  pmap.vmap "i" size "n"(%x) : (tensor<?xi1, #pmap.layout<["n"], []>>) -> () {
  ^bb0(%r: tensor<i1, #pmap.layout<[], ["i"]>>):
    pmap.assert %r, "each" : tensor<i1, #pmap.layout<[], ["i"]>>
    pmap.yield
  }
  return
}

// A loop and a branch that all rows take alike carry the values of all rows.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32, #{{.*}}>, %[[C:[a-z0-9]+]]: i1)
func.func @loop(%n: index, %x: !rows, %c: i1) -> !rows attributes {pmap.sizes = ["n"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[X]])
  // CHECK-NEXT: %[[I:.*]] = scf.if %[[C]]
  // CHECK-NEXT: %[[D:.*]] = arith.addf %[[A]], %[[A]] : tensor<?x3xf32
  // CHECK-NEXT: scf.yield %[[D]]
  // CHECK-NEXT: else
  // CHECK-NEXT: scf.yield %[[A]]
  // CHECK-NEXT: }
  // CHECK-NEXT: scf.yield %[[I]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[R]]
  %0 = pmap.vmap "i" size "n"(%x) : (!rows) -> !rows {
  ^bb0(%r: !row):
    %l = scf.for %k = %c0 to %n step %c1 iter_args(%a = %r) -> !row {
      %b = scf.if %c -> !row {
        %d = arith.addf %a, %a : !row
        scf.yield %d : !row
      } else {
        scf.yield %a : !row
      }
      scf.yield %b : !row
    }
    pmap.yield %l : !row
  }
  return %0 : !rows
}

// A pmap within: blocks get a dimension that is not split, and the map the number of rows.
// CHECK-LABEL: func.func @map
// CHECK: %[[N:.*]] = pmap.size "n"
// CHECK: pmap.map {{.*}} sizes(%[[N]]) [#pmap.size_arg<"rows.{{[0-9]+}}", [], "the rows of a vmap">]
// CHECK-SAME: !pmap.dist<tensor<?x4xf32, {{.*}}>, <{{\[}}[], ["a"]]>, <["a"], [2]>>
// CHECK: ^bb0(%{{.*}}: index, %[[B:.*]]: tensor<?x2xf32, #pmap.layout<["rows.{{[0-9]+}}", "2"], ["a"]>>):
// CHECK-NEXT: pmap.all_reduce sum(%[[B]]) over ["a"]
func.func @map(%n: index, %x: tensor<?x4xf32, #pmap.layout<["n", "4"], []>>) -> tensor<?x2xf32, #pmap.layout<["n", "2"], []>> attributes {pmap.sizes = ["n"]} {
  %0 = pmap.vmap "i" size "n"(%x) : (tensor<?x4xf32, #pmap.layout<["n", "4"], []>>) -> tensor<?x2xf32, #pmap.layout<["n", "2"], []>> {
  ^bb0(%r: tensor<4xf32, #pmap.layout<["4"], ["i"]>>):
    %d = pmap.move %r : tensor<4xf32, #pmap.layout<["4"], ["i"]>> to !pmap.dist<tensor<4xf32, #pmap.layout<["4"], ["i"]>>, <[["a"]]>, <["a"], [2]>>
    %m = pmap.map <["a"], [2]> sizes() [](%d) : (!pmap.dist<tensor<4xf32, #pmap.layout<["4"], ["i"]>>, <[["a"]]>, <["a"], [2]>>) -> !pmap.dist<tensor<2xf32, #pmap.layout<["2"], ["i"]>>, <[[]]>, <["a"], [2]>> {
    ^bb0(%b: tensor<2xf32, #pmap.layout<["2"], ["a", "i"]>>):
      %s = pmap.all_reduce sum(%b) over ["a"] : (tensor<2xf32, #pmap.layout<["2"], ["a", "i"]>>) -> tensor<2xf32, #pmap.layout<["2"], ["i"]>>
      pmap.yield %s : tensor<2xf32, #pmap.layout<["2"], ["i"]>>
    }
    %g = pmap.move %m : !pmap.dist<tensor<2xf32, #pmap.layout<["2"], ["i"]>>, <[[]]>, <["a"], [2]>> to tensor<2xf32, #pmap.layout<["2"], ["i"]>>
    pmap.yield %g : tensor<2xf32, #pmap.layout<["2"], ["i"]>>
  }
  return %0 : tensor<?x2xf32, #pmap.layout<["n", "2"], []>>
}
