// Every op prints what it parses.
// RUN: %pmap-opt %s | %pmap-opt | FileCheck %s

!vec = tensor<?xf32, #pmap.layout<["n"], ["a"]>>
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
!whole = !pmap.dist<tensor<?xf32, #pmap.layout<["n"], []>>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>

// CHECK-LABEL: func.func @arrays
// CHECK-SAME: %[[X:.*]]: tensor<?xf32, #pmap.layout<["n"], ["a"]>>, %[[S:.*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @arrays(%x: !vec, %s: !scalar) attributes {pmap.sizes = ["n"]} {
  // CHECK: pmap.broadcast %[[S]] dims [] : tensor<f32, #pmap.layout<[], ["a"]>> -> tensor<?xf32, #pmap.layout<["n"], ["a"]>>
  %0 = pmap.broadcast %s dims [] : !scalar -> !vec
  // CHECK: pmap.reduce sum %[[X]] dims [0] :
  %1 = pmap.reduce sum %x dims [0] : !vec -> !scalar
  // CHECK: pmap.arg_reduce max %[[X]] dim 0 :
  %2 = pmap.arg_reduce max %x dim 0 : !vec -> tensor<i32, #pmap.layout<[], ["a"]>>
  // CHECK: pmap.scan sum %[[X]] dim 0 :
  %3 = pmap.scan sum %x dim 0 : !vec
  // CHECK: pmap.dot %[[X]], %[[X]] batch [] x [] contract [0] x [0] :
  %4 = pmap.dot %x, %x batch [] x [] contract [0] x [0] : !vec, !vec -> !scalar
  // CHECK: pmap.transpose %[[X]] perm [0] :
  %5 = pmap.transpose %x perm [0] : !vec -> !vec
  // CHECK: pmap.reshape %[[X]] :
  %6 = pmap.reshape %x : !vec -> tensor<1x?xf32, #pmap.layout<["1", "n"], ["a"]>>
  // CHECK: pmap.concat %[[X]], %[[X]] dim 0 :
  %7 = pmap.concat %x, %x dim 0 : (!vec, !vec) -> tensor<?xf32, #pmap.layout<["2*n"], ["a"]>>
  // CHECK: pmap.reverse %[[X]] dims [0] :
  %8 = pmap.reverse %x dims [0] : !vec
  %by = arith.constant 3 : index
  // CHECK: pmap.rotate %[[X]] by %{{.*}} dim 0 :
  %turned = pmap.rotate %x by %by dim 0 : !vec
  // CHECK: pmap.iota dim 0 : tensor<?xi32, #pmap.layout<["n"], []>>
  %9 = pmap.iota dim 0 : tensor<?xi32, #pmap.layout<["n"], []>>
  // CHECK: pmap.pad %[[X]] with %[[S]] low ["1"] high ["n"] :
  %10 = pmap.pad %x with %s low ["1"] high ["n"] : !vec, !scalar -> tensor<?xf32, #pmap.layout<["2*n+1"], ["a"]>>
  // CHECK: pmap.sort %[[X]] dim 0 {descending} :
  %11 = pmap.sort %x dim 0 {descending} : !vec
  // CHECK: pmap.argsort %[[X]] dim 0 :
  %12 = pmap.argsort %x dim 0 : !vec -> tensor<?xi32, #pmap.layout<["n"], ["a"]>>
  // CHECK: pmap.cast %[[X]] : {{.*}} -> tensor<4xf32, #pmap.layout<["4"], ["a"]>>
  %13 = pmap.cast %x : !vec -> tensor<4xf32, #pmap.layout<["4"], ["a"]>>
  // CHECK: pmap.stop_gradient %[[X]] :
  %14 = pmap.stop_gradient %x : !vec
  return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%n: index, %x: tensor<?xf32, #pmap.layout<["n"], []>>, %ids: tensor<2xi32>, %u: tensor<2xf32>, %i: index)
    attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[J:.*]] = pmap.checked_index %{{.*}}<%{{.*}} dim 0
  %j = pmap.checked_index %i < %n dim 0
  // CHECK: pmap.extract %{{.*}}[%[[J]]] :
  %0 = pmap.extract %x[%j] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
  // CHECK: pmap.slice %{{.*}}[%[[J]]] strides [2] in_bounds :
  %1 = pmap.slice %x[%j] strides [2] in_bounds : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<2xf32>
  // CHECK: pmap.update_slice %{{.*}}[%[[J]]] strides [1] = %{{.*}} :
  %2 = pmap.update_slice %x[%j] strides [1] = %u
    : tensor<?xf32, #pmap.layout<["n"], []>>, tensor<2xf32> -> tensor<?xf32, #pmap.layout<["n"], []>>
  // CHECK: pmap.gather %{{.*}}, %{{.*}} dim 0 :
  %3 = pmap.gather %x, %ids dim 0 : tensor<?xf32, #pmap.layout<["n"], []>>, tensor<2xi32> -> tensor<2xf32>
  // CHECK: pmap.scatter sum %{{.*}}, %{{.*}}, %{{.*}} dim 0 {is_unsigned} :
  %4 = pmap.scatter sum %x, %ids, %u dim 0 {is_unsigned}
    : tensor<?xf32, #pmap.layout<["n"], []>>, tensor<2xi32>, tensor<2xf32> -> tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// CHECK-LABEL: func.func @sizes
func.func @sizes(%n: index, %i: tensor<i32>, %c: tensor<i1>, %x: tensor<f32>) attributes {pmap.sizes = ["n"]} {
  // CHECK: pmap.size "2*n+1"
  %0 = pmap.size "2*n+1"
  // CHECK: %[[I:.*]] = pmap.to_index %{{.*}} : tensor<i32>
  %1 = pmap.to_index %i : tensor<i32>
  // CHECK: pmap.bind_size %[[I]] as "k"
  %k = pmap.bind_size %1 as "k"
  // CHECK: pmap.from_index %{{.*}} {is_unsigned} : tensor<i32>
  %2 = pmap.from_index %0 {is_unsigned} : tensor<i32>
  // CHECK: pmap.to_bool %{{.*}} : tensor<i1>
  %3 = pmap.to_bool %c : tensor<i1>
  // CHECK: pmap.assert %{{.*}}, "no \22luck\22" : tensor<i1>
  pmap.assert %c, "no \"luck\"" : tensor<i1>
  // CHECK: pmap.print "x is {}"(%{{.*}}) ["f32"] : tensor<f32>
  pmap.print "x is {}" (%x) ["f32"] : tensor<f32>
  // CHECK: pmap.print "done"() []
  pmap.print "done" () []
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%n: index, %m: index, %x: tensor<?xf32, #pmap.layout<["n"], []>>) attributes {pmap.sizes = ["n", "m"]} {
  // CHECK: pmap.for_each (%[[I:.*]], %[[J:.*]]) in (%{{.*}}, %{{.*}}) {
  // CHECK-NEXT: %[[E:.*]] = pmap.extract %{{.*}}[%[[I]]]
  // CHECK-NEXT: pmap.yield %[[E]] : tensor<f32>
  // CHECK-NEXT: } : tensor<?x?xf32, #pmap.layout<["n", "m"], []>>
  %0 = pmap.for_each (%i, %j) in (%n, %m) {
    %1 = pmap.extract %x[%i] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
    pmap.yield %1 : tensor<f32>
  } : tensor<?x?xf32, #pmap.layout<["n", "m"], []>>
  // CHECK: pmap.grad (%{{.*}} as %[[A:.*]] : tensor<?xf32, #pmap.layout<["n"], []>>) wrt [0] {
  // CHECK-NEXT: pmap.reduce sum %[[A]] dims [0]
  // CHECK-NEXT: pmap.yield
  // CHECK-NEXT: } : tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>
  %v, %g = pmap.grad (%x as %a : tensor<?xf32, #pmap.layout<["n"], []>>) wrt [0] {
    %s = pmap.reduce sum %a dims [0] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
    pmap.yield %s : tensor<f32>
  } : tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// CHECK-LABEL: func.func @parallel
func.func @parallel(%n: index, %x: tensor<?xf32, #pmap.layout<["n"], []>>) attributes {pmap.sizes = ["n"]} {
  // CHECK: pmap.move %{{.*}} : tensor<?xf32, #pmap.layout<["n"], []>> to !pmap.dist<tensor<?xf32, #pmap.layout<["n"], []>>, <{{\[\[}}"a"]]>, <["a"], [-1]>>
  %0 = pmap.move %x : tensor<?xf32, #pmap.layout<["n"], []>> to !whole
  // CHECK: pmap.map <["a"], [-1]> sizes(%{{.*}}) [#pmap.size_arg<"n.1", ["a"], ragged, "argument 'x', dimension 0">](%{{.*}}) :
  %1 = pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"n.1", ["a"], ragged, "argument 'x', dimension 0">] (%0)
      : (!whole) -> (!whole) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %[[B:.*]]: tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>):
  ^bb0(%n1: index, %b: tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>):
    // CHECK-NEXT: pmap.axis_index "a" : tensor<i32, #pmap.layout<[], ["a"]>>
    %2 = pmap.axis_index "a" : tensor<i32, #pmap.layout<[], ["a"]>>
    // CHECK-NEXT: pmap.axis_size "a"
    %3 = pmap.axis_size "a"
    // CHECK-NEXT: %[[S:.*]] = pmap.reduce sum
    %s = pmap.reduce sum %b dims [0] : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
    // CHECK-NEXT: %[[T:.*]] = pmap.all_reduce sum(%[[S]]) over ["a"] :
    %t = pmap.all_reduce sum (%s) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
    // CHECK-NEXT: pmap.all_reduce max(%[[S]]) over ["a"] groups [array<i64: 0, 2>, array<i64: 1, 3>] :
    %u = pmap.all_reduce max (%s) over ["a"] groups [array<i64: 0, 2>, array<i64: 1, 3>]
      : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32, #pmap.layout<[], ["a"]>>
    // CHECK-NEXT: pmap.all_gather %[[S]] over ["a"] dim 0 :
    %v = pmap.all_gather %s over ["a"] dim 0 : tensor<f32, #pmap.layout<[], ["a"]>> -> tensor<?xf32, #pmap.layout<["@a"], []>>
    // CHECK-NEXT: pmap.reduce_scatter %[[B]] over ["a"] dim 0 groups [array<i64: 0>, array<i64: 1>] :
    %y = pmap.reduce_scatter %b over ["a"] dim 0 groups [array<i64: 0>, array<i64: 1>]
      : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>> -> tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
    // CHECK-NEXT: pmap.all_to_all %[[B]] over ["a"] split 0 concat 0 :
    %z = pmap.all_to_all %b over ["a"] split 0 concat 0
      : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>> -> tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
    // CHECK-NEXT: %[[TO:.*]] = arith.constant dense<[1, 0]> : tensor<2xi32>
    %to = arith.constant dense<[1, 0]> : tensor<2xi32>
    // CHECK-NEXT: pmap.permute %[[B]] to %[[TO]] fill %[[T]] over ["a"] :
    %p = pmap.permute %b to %to fill %t over ["a"]
      : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>, tensor<2xi32>, tensor<f32> -> tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
    // CHECK-NEXT: pmap.widen %[[T]] : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
    %w = pmap.widen %t : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
    // CHECK-NEXT: pmap.yield %[[B]] :
    pmap.yield %b : tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
  }
  return
}

!pair = !pmap.dist<tensor<5xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2], [0, 3]>>
// CHECK-LABEL: func.func @shards
func.func @shards(%x: tensor<3xf32>, %y: tensor<2xf32>) {
  // CHECK: %[[S:.*]] = pmap.shards %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<2xf32>) -> !pmap.dist<tensor<5xf32>, {{.*}}, <["a"], [2], [0, 3]>>
  %0 = pmap.shards %x, %y : (tensor<3xf32>, tensor<2xf32>) -> !pair
  // CHECK: pmap.to_shards %[[S]] :
  %1:2 = pmap.to_shards %0 : (!pair) -> (tensor<3xf32>, tensor<2xf32>)
  return
}
