// Loops and branches.
// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s

// The forward loop stacks what it carries; the backward loop reads it from the last trip on.
// CHECK-LABEL: func.func @for
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[N:.*]]: index
func.func @for(%x: tensor<f32>, %n: index) -> tensor<f32> {
  // CHECK: pmap.bind_size %{{.*}} as "trips.1"
  // CHECK: %[[F:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[V:.*]] = %[[X]], %[[S:.*]] = %{{.*}}) -> (tensor<f32>, tensor<?xf32, #pmap.layout<["trips.1"], []>>)
  // CHECK: %[[ROW:.*]] = pmap.reshape %[[V]]
  // CHECK: %[[STORED:.*]] = pmap.update_slice %[[S]][%[[I]]] strides [1] in_bounds = %[[ROW]]
  // CHECK: %[[NEXT:.*]] = math.sin %[[V]]
  // CHECK: scf.yield %[[NEXT]], %[[STORED]]
  // CHECK: %[[K:.*]] = pmap.size "trips.1"
  // CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[K]] step %{{.*}} iter_args(%[[CT:.*]] = %{{.*}}) -> (tensor<f32>)
  // CHECK: %[[T:.*]] = arith.subi %{{.*}}, %[[J]]
  // CHECK: %[[R:.*]] = pmap.slice %[[F]]#1[%[[T]]] strides [1] in_bounds
  // CHECK: %[[OLD:.*]] = pmap.reshape %[[R]]
  // CHECK: %[[C:.*]] = math.cos %[[OLD]]
  // CHECK: %[[D:.*]] = arith.mulf %[[CT]], %[[C]]
  // CHECK: scf.yield %[[D]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> (tensor<f32>) {
      %1 = math.sin %y : tensor<f32>
      scf.yield %1 : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// A loop linear in what it carries stores nothing (G5).
// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<f32>, %w: tensor<f32>, %n: index) -> tensor<f32> {
  // CHECK: scf.for {{.*}} -> (tensor<f32>)
  // CHECK-NOT: update_slice
  // CHECK: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> (tensor<f32>) {
      %1 = arith.mulf %y, %w : tensor<f32>
      scf.yield %1 : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// What a loop reads from outside gets the sum over the trips; the sum is updated in place.
// CHECK-LABEL: func.func @captured
// CHECK-SAME: %[[X:.*]]: tensor<?xf32, #pmap.layout<["n"], []>>, %[[N:.*]]: index
func.func @captured(%x: tensor<?xf32, #pmap.layout<["n"], []>>, %n: index) -> tensor<?xf32, #pmap.layout<["n"], []>>
    attributes {pmap.sizes = []} {
  // CHECK: scf.for {{.*}} iter_args(%[[CT:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>)
  // CHECK: pmap.slice %[[SUM]]
  // CHECK: pmap.update_slice %[[SUM]]
  // CHECK-NOT: arith.addf %{{.*}} : tensor<?xf32
  // CHECK: scf.yield
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<f32>
  %v, %g = pmap.grad (%x as %a : tensor<?xf32, #pmap.layout<["n"], []>>) wrt [0] {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %zero) -> (tensor<f32>) {
      %e = pmap.extract %a[%i] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
      %p = arith.mulf %e, %e : tensor<f32>
      %q = arith.mulf %y, %p : tensor<f32>
      scf.yield %q : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>
  return %g : tensor<?xf32, #pmap.layout<["n"], []>>
}

// The branch that was taken is pulled back, under the same condition.
// CHECK-LABEL: func.func @if
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[C:.*]]: i1
func.func @if(%x: tensor<f32>, %c: i1) -> tensor<f32> {
  // CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
  // CHECK: %[[G:.*]] = scf.if %[[C]] -> (tensor<f32>) {
  // CHECK-NEXT: %[[E:.*]] = math.exp %[[X]]
  // CHECK-NEXT: scf.yield %[[E]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[ONE]]
  // CHECK: return %[[G]]
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = scf.if %c -> (tensor<f32>) {
      %1 = math.exp %a : tensor<f32>
      scf.yield %1 : tensor<f32>
    } else {
      scf.yield %a : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// A comprehension that reads x[i]: every point's cotangent is an element of the gradient, and no scatter is needed.
// CHECK-LABEL: func.func @for_each
// CHECK-SAME: %[[X:.*]]: tensor<?xf32, #pmap.layout<["n"], []>>, %[[N:.*]]: index
func.func @for_each(%x: tensor<?xf32, #pmap.layout<["n"], []>>, %n: index) -> tensor<?xf32, #pmap.layout<["n"], []>>
    attributes {pmap.sizes = []} {
  // CHECK: %[[G:.*]] = pmap.for_each (%[[I:.*]]) in (%[[N]])
  // CHECK-NOT: pmap.scatter
  // CHECK: return %[[G]]
  %v, %g = pmap.grad (%x as %a : tensor<?xf32, #pmap.layout<["n"], []>>) wrt [0] {
    %0 = pmap.for_each (%i) in (%n) {
      %e = pmap.extract %a[%i] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
      %p = math.sin %e : tensor<f32>
      pmap.yield %p : tensor<f32>
    } : tensor<?xf32, #pmap.layout<["n"], []>>
    %1 = pmap.reduce sum %0 dims [0] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
    pmap.yield %1 : tensor<f32>
  } : tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>
  return %g : tensor<?xf32, #pmap.layout<["n"], []>>
}

// An index that is computed: a scatter-add.
// CHECK-LABEL: func.func @for_each_computed
func.func @for_each_computed(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> attributes {pmap.sizes = []} {
  // CHECK: %[[P:.*]]:2 = pmap.for_each
  // CHECK: pmap.scatter sum %{{.*}}, %[[P]]#1, %[[P]]#0 dim 0
  %c3 = arith.constant 3 : index
  %v, %g = pmap.grad (%x as %a : tensor<8xf32>) wrt [0] {
    %0 = pmap.for_each (%i) in (%n) {
      %j = arith.remsi %i, %c3 : index
      %e = pmap.extract %a[%j] : tensor<8xf32> -> tensor<f32>
      %p = math.sin %e : tensor<f32>
      pmap.yield %p : tensor<f32>
    } : tensor<?xf32, #pmap.layout<["n"], []>>
    %1 = pmap.reduce sum %0 dims [0] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
    pmap.yield %1 : tensor<f32>
  } : tensor<f32>, tensor<8xf32>
  return %g : tensor<8xf32>
}

// What is computed a second time prints nothing a second time, and binds sizes of its own.
// CHECK-LABEL: func.func @recomputation
func.func @recomputation(%x: tensor<f32>, %n: index) -> tensor<f32> {
  // CHECK-COUNT-1: pmap.print
  // CHECK: pmap.bind_size %{{.*}} as "k"
  // CHECK-NOT: pmap.print
  // CHECK: pmap.bind_size %{{.*}} as "k.{{[0-9]+}}"
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> (tensor<f32>) {
      pmap.print "{}" (%y) ["f32"] : tensor<f32>
      %k = pmap.bind_size %i as "k"
      %b = pmap.broadcast %y dims [] : tensor<f32> -> tensor<?xf32, #pmap.layout<["k"], []>>
      %e = math.exp %b : tensor<?xf32, #pmap.layout<["k"], []>>
      %s = pmap.reduce sum %e dims [0] : tensor<?xf32, #pmap.layout<["k"], []>> -> tensor<f32>
      scf.yield %s : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// A branch that reads an element adds into the sum that the loop carries; the other one hands it on: no trip passes over the
// array.
// CHECK-LABEL: func.func @captured_in_branch
func.func @captured_in_branch(%x: tensor<?xf32, #pmap.layout<["n"], []>>, %n: index) -> tensor<?xf32, #pmap.layout<["n"], []>>
    attributes {pmap.sizes = []} {
  // CHECK: scf.for {{.*}} iter_args(%[[CT:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>)
  // CHECK: %[[IF:.*]]:2 = scf.if
  // CHECK: %[[UPDATED:.*]] = pmap.update_slice %[[SUM]]
  // CHECK: scf.yield %[[UPDATED]], %{{.*}}
  // CHECK: } else {
  // CHECK: scf.yield %[[SUM]], %[[CT]]
  // CHECK-NOT: arith.addf %{{.*}} : tensor<?xf32
  // CHECK: scf.yield %[[IF]]#1, %[[IF]]#0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<f32>
  %v, %g = pmap.grad (%x as %a : tensor<?xf32, #pmap.layout<["n"], []>>) wrt [0] {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %zero) -> (tensor<f32>) {
      %positive = arith.cmpf ogt, %y, %zero : tensor<f32>
      %c = pmap.to_bool %positive : tensor<i1>
      %z = scf.if %c -> (tensor<f32>) {
        %e = pmap.extract %a[%i] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
        %q = arith.mulf %y, %e : tensor<f32>
        scf.yield %q : tensor<f32>
      } else {
        scf.yield %y : tensor<f32>
      }
      scf.yield %z : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<?xf32, #pmap.layout<["n"], []>>
  return %g : tensor<?xf32, #pmap.layout<["n"], []>>
}

// What the points of a stencil contribute to elements that they read alike leaves as one array: the neighbours' here, and what a
// point gives its own element, read twice in one branch and once in the other.
// CHECK-LABEL: func.func @stencil
func.func @stencil(%x: tensor<8xf32>, %inside: i1) -> tensor<8xf32> {
  // CHECK: %[[P:.*]]:2 = pmap.for_each
  // CHECK: pmap.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
  // CHECK: %[[G:.*]] = pmap.for_each
  // CHECK-COUNT-3: pmap.extract %[[P]]#
  // CHECK-NOT: pmap.extract
  // CHECK: return %[[G]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v, %g = pmap.grad (%x as %a : tensor<8xf32>) wrt [0] {
    %0 = pmap.for_each (%i) in (%c8) {
      %e = scf.if %inside -> (tensor<f32>) {
        %l = arith.subi %i, %c1 : index
        %r = arith.addi %i, %c1 : index
        %left = pmap.extract %a[%l] : tensor<8xf32> -> tensor<f32>
        %right = pmap.extract %a[%r] : tensor<8xf32> -> tensor<f32>
        %own = pmap.extract %a[%i] : tensor<8xf32> -> tensor<f32>
        %again = pmap.extract %a[%i] : tensor<8xf32> -> tensor<f32>
        %s = arith.addf %left, %right : tensor<f32>
        %t = arith.addf %own, %again : tensor<f32>
        %u = math.sin %t : tensor<f32>
        %w = arith.addf %s, %u : tensor<f32>
        scf.yield %w : tensor<f32>
      } else {
        %own = pmap.extract %a[%i] : tensor<8xf32> -> tensor<f32>
        scf.yield %own : tensor<f32>
      }
      pmap.yield %e : tensor<f32>
    } : tensor<8xf32>
    %s = pmap.reduce sum %0 dims [0] : tensor<8xf32> -> tensor<f32>
    pmap.yield %s : tensor<f32>
  } : tensor<f32>, tensor<8xf32>
  return %g : tensor<8xf32>
}
