// Collectives that need not be, and ones that could be smaller (V8, G2).
// RUN: %pmap-opt %s --pmap-simplify-collectives --pmap-simplify | FileCheck %s

!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
!vec = tensor<?xf32, #pmap.layout<["n"], []>>
!pos = tensor<i32, #pmap.layout<[], ["a"]>>
!local = tensor<?xf32, #pmap.layout<["n"], ["a"]>>
!all = tensor<?xf32, #pmap.layout<["@a*n"], []>>
!whole = tensor<?xf32, #pmap.layout<["@a*n"], ["a"]>>
!both = tensor<?xf32, #pmap.layout<["@a*n"], ["a", "b"]>>

// V8: a sum of what the devices share is a product; a mean or maximum of it is nothing.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>
func.func @shared(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK: %[[N:.*]] = pmap.size "@a"
  // CHECK: %[[F:.*]] = pmap.from_index %[[N]]
  // CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[F]]
  // CHECK-NEXT: return %[[P]], %[[X]], %[[X]]
  %0 = pmap.all_reduce sum (%x) over ["a"] : (tensor<f32>) -> tensor<f32>
  %1 = pmap.all_reduce mean (%x) over ["a"] : (tensor<f32>) -> tensor<f32>
  %2 = pmap.all_reduce max (%x) over ["a"] : (tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// A sum of a sum, and of what was only widened, through elementwise code.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>, %[[Y:[^:]*]]: tensor<f32>
func.func @repeated(%x: !scalar, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[S:.*]] = pmap.all_reduce sum(%[[X]]) over ["a"]
  // CHECK-NOT: pmap.all_reduce
  // CHECK: %[[F:.*]] = pmap.from_index
  // CHECK: %[[P:.*]] = arith.mulf %[[S]], %[[F]]
  // CHECK: %[[E:.*]] = math.exp %[[Y]] : tensor<f32>
  // CHECK: %[[Q:.*]] = arith.mulf %[[E]], %[[F]]
  // CHECK: return %[[P]], %[[Q]]
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = pmap.widen %0 : tensor<f32> to !scalar
  %2 = pmap.all_reduce sum (%1) over ["a"] : (!scalar) -> tensor<f32>
  %3 = pmap.widen %y : tensor<f32> to !scalar
  %4 = math.exp %3 : !scalar
  %5 = pmap.all_reduce sum (%4) over ["a"] : (!scalar) -> tensor<f32>
  return %2, %5 : tensor<f32>, tensor<f32>
}

// V10: blocks of a ragged split differ in size, so a sum over one varies though its elements do not.
// CHECK-LABEL: func.func @ragged
func.func @ragged(%x: tensor<f32>, %n: index, %d: !pmap.dist<tensor<?xf32, #pmap.layout<["m"], []>>, <[["a"]]>, <["a"], [-1]>>) -> !pmap.dist<tensor<f32>, <[]>, <["a"], [-1]>> attributes {pmap.sizes = []} {
  // CHECK: pmap.all_reduce sum
  %m = pmap.move %x : tensor<f32> to !pmap.dist<tensor<f32>, <[]>, <["a"], [-1]>>
  %0 = pmap.map <["a"], [-1]> sizes(%n) [#pmap.size_arg<"n", ["a"], ragged, "dimension 0">] (%d, %m) : (!pmap.dist<tensor<?xf32, #pmap.layout<["m"], []>>, <[["a"]]>, <["a"], [-1]>>, !pmap.dist<tensor<f32>, <[]>, <["a"], [-1]>>) -> !pmap.dist<tensor<f32>, <[]>, <["a"], [-1]>> {
  ^bb0(%k: index, %b: !local, %s: tensor<f32>):
    %1 = pmap.widen %s : tensor<f32> to !scalar
    %2 = pmap.broadcast %1 dims [] : !scalar -> !local
    %3 = math.exp %2 : !local
    %4 = pmap.reduce sum %3 dims [0] : !local -> !scalar
    %5 = pmap.all_reduce sum (%4) over ["a"] : (!scalar) -> tensor<f32>
    pmap.yield %5 : tensor<f32>
  }
  return %0 : !pmap.dist<tensor<f32>, <[]>, <["a"], [-1]>>
}

// The smaller value travels: before a broadcast, after a sum, only the part that is read.
// CHECK-LABEL: func.func @smaller
// CHECK-SAME: %[[S:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>, %[[V:[^:]*]]: tensor<?xf32, #pmap.layout<["n"], ["a"]>>, %[[W:[^:]*]]: tensor<?xf32, #pmap.layout<["n"], ["a"]>>
func.func @smaller(%s: !scalar, %v: !local, %w: !local, %i: index) -> (!vec, tensor<f32>, tensor<2xf32>) attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[A:.*]] = pmap.all_reduce sum(%[[S]]) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
  // CHECK: %[[B:.*]] = pmap.broadcast %[[A]]
  // CHECK: %[[R:.*]] = pmap.reduce sum %[[V]]
  // CHECK: %[[C:.*]] = pmap.all_reduce sum(%[[R]]) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
  // CHECK: %[[P:.*]] = pmap.slice %[[W]]
  // CHECK: %[[D:.*]] = pmap.all_reduce max(%[[P]]) over ["a"] : (tensor<2xf32, #pmap.layout<["2"], ["a"]>>) -> tensor<2xf32>
  // CHECK: return %[[B]], %[[C]], %[[D]]
  %0 = pmap.broadcast %s dims [] : !scalar -> !local
  %1 = pmap.all_reduce sum (%0) over ["a"] : (!local) -> !vec
  %2 = pmap.all_reduce sum (%v) over ["a"] : (!local) -> !vec
  %3 = pmap.reduce sum %2 dims [0] : !vec -> tensor<f32>
  %4 = pmap.all_reduce max (%w) over ["a"] : (!local) -> !vec
  %5 = pmap.slice %4[%i] strides [1] : !vec -> tensor<2xf32>
  return %1, %3, %5 : !vec, tensor<f32>, tensor<2xf32>
}

// Not when the whole is read as well, and not for another kind.
// CHECK-LABEL: func.func @whole_read
func.func @whole_read(%v: !local, %w: !local) -> (!vec, tensor<f32>, tensor<f32>) attributes {pmap.sizes = ["n"]} {
  // CHECK: pmap.all_reduce sum(%{{.*}}) over ["a"] : (tensor<?xf32, #pmap.layout<["n"], ["a"]>>)
  // CHECK: pmap.reduce sum
  // CHECK: pmap.all_reduce sum(%{{.*}}) over ["a"] : (tensor<?xf32, #pmap.layout<["n"], ["a"]>>)
  // CHECK: pmap.reduce max
  %0 = pmap.all_reduce sum (%v) over ["a"] : (!local) -> !vec
  %1 = pmap.reduce sum %0 dims [0] : !vec -> tensor<f32>
  %2 = pmap.all_reduce sum (%w) over ["a"] : (!local) -> !vec
  %3 = pmap.reduce max %2 dims [0] : !vec -> tensor<f32>
  return %0, %1, %3 : !vec, tensor<f32>, tensor<f32>
}

// Two sums that are added are one.
// CHECK-LABEL: func.func @added
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>, %[[Y:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @added(%x: !scalar, %y: !scalar) -> tensor<f32> {
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[X]], %[[Y]]
  // CHECK-NEXT: %[[R:.*]] = pmap.all_reduce sum(%[[S]])
  // CHECK-NEXT: return %[[R]]
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = pmap.all_reduce sum (%y) over ["a"] : (!scalar) -> tensor<f32>
  %2 = arith.addf %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}

// This device's part of a sum is a reduce_scatter; over the other axis the smaller part is summed.
// CHECK-LABEL: func.func @own_part
// CHECK-SAME: %[[X:[^:]*]]: tensor<?xf32, #pmap.layout<["@a*n"], ["a"]>>, %[[Y:[^:]*]]: tensor<?xf32, #pmap.layout<["@a*n"], ["a", "b"]>>
func.func @own_part(%x: !whole, %y: !both) -> (!local, !local) attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[S:.*]] = pmap.reduce_scatter %[[X]] over ["a"] dim 0
  // CHECK: %[[P:.*]] = pmap.reduce_scatter %[[Y]] over ["a"] dim 0
  // CHECK: %[[Q:.*]] = pmap.all_reduce sum(%[[P]]) over ["b"]
  // CHECK: return %[[S]], %[[Q]]
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!whole) -> !all
  %1 = pmap.widen %0 : !all to !whole
  %n = pmap.size "n"
  %rank = pmap.axis_index "a" : !pos
  %at = pmap.to_index %rank : !pos
  %offset = arith.muli %at, %n : index
  %2 = pmap.slice %1[%offset] strides [1] in_bounds : !whole -> !local
  %3 = pmap.all_reduce sum (%y) over ["a", "b"] : (!both) -> !all
  %4 = pmap.widen %3 : !all to !whole
  %5 = pmap.slice %4[%offset] strides [1] in_bounds : !whole -> !local
  return %2, %5 : !local, !local
}

// The part of another device is not its own: the sum stays.
// CHECK-LABEL: func.func @other_part
func.func @other_part(%x: !whole) -> !local attributes {pmap.sizes = ["n"]} {
  // CHECK-NOT: pmap.reduce_scatter
  // CHECK: pmap.all_reduce
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!whole) -> !all
  %1 = pmap.widen %0 : !all to !whole
  %n = pmap.size "n"
  %rank = pmap.axis_index "a" : !pos
  %at = pmap.to_index %rank : !pos
  %last = pmap.size "@a-1"
  %other = arith.subi %last, %at : index
  %offset = arith.muli %other, %n : index
  %2 = pmap.slice %1[%offset] strides [1] in_bounds : !whole -> !local
  return %2 : !local
}

// A scatter that is gathered again is the sum; a gather of everyone's own part is what was there before.
// CHECK-LABEL: func.func @gathered
// CHECK-SAME: %[[X:[^:]*]]: tensor<?xf32, #pmap.layout<["@a*n"], ["a"]>>, %[[Y:[^:]*]]: tensor<?xf32, #pmap.layout<["@a*n"], []>>
func.func @gathered(%x: !whole, %y: !all) -> (!all, !all) attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[S:.*]] = pmap.all_reduce sum(%[[X]]) over ["a"]
  // CHECK-NOT: all_gather
  // CHECK: return %[[S]], %[[Y]]
  %0 = pmap.reduce_scatter %x over ["a"] dim 0 : !whole -> !local
  %1 = pmap.all_gather %0 over ["a"] dim 0 tiled : !local -> !all
  %n = pmap.size "n"
  %rank = pmap.axis_index "a" : !pos
  %at = pmap.to_index %rank : !pos
  %offset = arith.muli %at, %n : index
  %2 = pmap.widen %y : !all to !whole
  %3 = pmap.slice %2[%offset] strides [1] in_bounds : !whole -> !local
  %4 = pmap.all_gather %3 over ["a"] dim 0 tiled : !local -> !all
  return %1, %4 : !all, !all
}

// A scatter that somebody else reads stays.
// CHECK-LABEL: func.func @scatter_read
func.func @scatter_read(%x: !whole) -> (!all, !local) attributes {pmap.sizes = ["n"]} {
  // CHECK: pmap.reduce_scatter
  // CHECK: pmap.all_gather
  %0 = pmap.reduce_scatter %x over ["a"] dim 0 : !whole -> !local
  %1 = pmap.all_gather %0 over ["a"] dim 0 tiled : !local -> !all
  return %1, %0 : !all, !local
}

// One that nobody reads is left out, in whole or in part.
// CHECK-LABEL: func.func @unread
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32
func.func @unread(%x: !scalar, %y: !local) -> tensor<f32> {
  // CHECK-NEXT: %[[S:.*]] = pmap.all_reduce sum(%[[X]])
  // CHECK-NEXT: return %[[S]]
  %0 = pmap.all_gather %y over ["a"] dim 0 tiled : !local -> !all
  %1 = pmap.reduce_scatter %0 over ["a"] dim 0 : !all -> !local
  %2:2 = pmap.all_reduce sum (%y, %x) over ["a"] : (!local, !scalar) -> (!vec, tensor<f32>)
  return %2#1 : tensor<f32>
}
