// (V6) on what passes made: indices and conditions carry no V in their types, so it is followed through the code.
// RUN: %pmap-opt %s --pmap-check-variance --split-input-file --verify-diagnostics

!scalar = tensor<f32, #pmap.layout<[], ["a"]>>

// F16
func.func @under_condition(%x: !scalar) {
  %zero = arith.constant dense<0> : tensor<i32, #pmap.layout<[], ["a"]>>
  %r = pmap.axis_index "a" : tensor<i32, #pmap.layout<[], ["a"]>>
  %c = arith.cmpi eq, %r, %zero : tensor<i32, #pmap.layout<[], ["a"]>>
  // expected-note @+1 {{what decides it is computed here}}
  %b = pmap.to_bool %c : tensor<i1, #pmap.layout<[], ["a"]>>
  // expected-note @+1 {{the condition is here}}
  scf.if %b {
    // expected-error @+1 {{a collective over 'a' under a condition that varies over 'a': some devices may not reach it, and the others would wait for them (V6) [E0706]}}
    %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  }
  return
}

// -----
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
func.func @trip_count(%x: !scalar) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = pmap.axis_index "a" : tensor<i32, #pmap.layout<[], ["a"]>>
  %i = pmap.to_index %r : tensor<i32, #pmap.layout<[], ["a"]>>
  // expected-note @+1 {{what decides it is computed here}}
  %n = arith.addi %i, %c1 : index
  // expected-note @+1 {{the loop is here}}
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{a collective over 'a' in a loop whose trip count varies over 'a'}}
    %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  }
  return
}

// -----
// A ragged block's size varies (V10): so does a loop over it.
!whole = !pmap.dist<tensor<?xf32, #pmap.layout<["n"], []>>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>
func.func @ragged(%n: index, %x: !whole) attributes {pmap.sizes = ["n"]} {
  pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"k", ["a"], ragged, "x">] (%x) : (!whole) -> () {
  ^bb0(%k: index, %b: tensor<?xf32, #pmap.layout<["k"], ["a"]>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = pmap.reduce sum %b dims [0] : tensor<?xf32, #pmap.layout<["k"], ["a"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
    // expected-note @+1 {{what decides it is computed here}}
    %m = pmap.size "2*k"
    // expected-note @+1 {{the loop is here}}
    scf.for %j = %c0 to %m step %c1 {
      // expected-error @+1 {{a collective over 'a' in a loop whose trip count varies over 'a'}}
      %0 = pmap.all_reduce sum (%s) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
    }
    pmap.yield
  }
  return
}

// -----
// F15: a while whose trip count varies, with a psum inside.
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
func.func @while(%x: !scalar, %limit: !scalar) {
  // expected-note @+1 {{the loop is here}}
  %0 = scf.while (%y = %x) : (!scalar) -> !scalar {
    %c = arith.cmpf olt, %y, %limit : !scalar
    // expected-note @+1 {{what decides it is computed here}}
    %b = pmap.to_bool %c : tensor<i1, #pmap.layout<[], ["a"]>>
    scf.condition(%b) %y : !scalar
  } do {
  ^bb0(%y: !scalar):
    // expected-error @+1 {{a collective over 'a' in a loop whose trip count varies over 'a'}}
    %1 = pmap.all_reduce sum (%y) over ["a"] : (!scalar) -> tensor<f32>
    %2 = pmap.widen %1 : tensor<f32> to !scalar
    scf.yield %2 : !scalar
  }
  return
}

// -----
// Allowed: a condition that varies over another axis, a size that does not vary.
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
func.func @allowed(%x: !scalar, %n: index) attributes {pmap.sizes = ["n"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : tensor<i32, #pmap.layout<[], ["b"]>>
  %r = pmap.axis_index "b" : tensor<i32, #pmap.layout<[], ["b"]>>
  %c = arith.cmpi eq, %r, %zero : tensor<i32, #pmap.layout<[], ["b"]>>
  %b = pmap.to_bool %c : tensor<i1, #pmap.layout<[], ["b"]>>
  scf.if %b {
    scf.for %j = %c0 to %n step %c1 {
      %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
    }
  }
  return
}

// -----
// An index that varies makes the element vary, which the array's type must show.
func.func @hidden(%x: tensor<4xf32>) -> tensor<f32> {
  %r = pmap.axis_index "a" : tensor<i32, #pmap.layout<[], ["a"]>>
  %i = pmap.to_index %r : tensor<i32, #pmap.layout<[], ["a"]>>
  // expected-error @+1 {{a result of type 'tensor<f32>' varies over 'a', through an index or a condition, and its type does not say so}}
  %e = pmap.extract %x[%i] : tensor<4xf32> -> tensor<f32>
  return %e : tensor<f32>
}

// -----
// A permutation is reached by all or by none, too.
!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
func.func @permute(%x: !scalar, %c: tensor<i1, #pmap.layout<[], ["a"]>>, %to: tensor<2xi32>, %fill: tensor<f32>) {
  // expected-note @+1 {{what decides it is computed here}}
  %b = pmap.to_bool %c : tensor<i1, #pmap.layout<[], ["a"]>>
  // expected-note @+1 {{the condition is here}}
  scf.if %b {
    // expected-error @+1 {{a collective over 'a' under a condition that varies over 'a'}}
    %0 = pmap.permute %x to %to fill %fill over ["b", "a"] : !scalar, tensor<2xi32>, tensor<f32> -> tensor<f32, #pmap.layout<[], ["a", "b"]>>
  }
  return
}

// -----
// Blocks of different sizes do not meet (V10), whatever pass has put the collective there.
!whole = !pmap.dist<tensor<?xf32, #pmap.layout<["n"], []>>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>
func.func @ragged_blocks(%n: index, %x: !whole) attributes {pmap.sizes = ["n"]} {
  pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"k", ["a"], ragged, "x">] (%x) : (!whole) -> () {
  ^bb0(%k: index, %b: tensor<?xf32, #pmap.layout<["k"], ["a"]>>):
    // expected-error @+1 {{a collective over 'a' of arrays whose size varies over 'a': expected one size on all devices (V10) [E0709]}}
    %0 = pmap.all_reduce sum (%b) over ["a"] : (tensor<?xf32, #pmap.layout<["k"], ["a"]>>) -> tensor<?xf32, #pmap.layout<["k"], []>>
    pmap.yield
  }
  return
}
