// G5, V6: collectives leave loops where they can.
// RUN: %pmap-opt %s --pmap-hoist-collectives | FileCheck %s

!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
!half = tensor<bf16, #pmap.layout<[], ["a"]>>

// What is the same in every trip is done once, together with what it is computed from; from two loops at once.
// CHECK-LABEL: func.func @invariant
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @invariant(%x: !scalar, %n: index) -> tensor<f32> {
  // CHECK: %[[E:.*]] = math.exp %[[X]]
  // CHECK: %[[S:.*]] = pmap.all_reduce sum(%[[E]])
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NEXT: arith.mulf %{{.*}}, %[[S]]
  // CHECK-NOT: pmap.all_reduce
  // CHECK: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1.0> : tensor<f32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %one) -> tensor<f32> {
    %1 = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> tensor<f32> {
      %2 = math.exp %x : !scalar
      %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
      %4 = arith.mulf %b, %3 : tensor<f32>
      scf.yield %4 : tensor<f32>
    }
    scf.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// A sum that is only added up is done after the loop: one instead of one per trip. The initial value is not summed.
// CHECK-LABEL: func.func @added
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>, %[[INIT:[^:]*]]: tensor<f32>
func.func @added(%x: !scalar, %init: tensor<f32>, %n: index) -> tensor<f32> {
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f32, #pmap.layout<[], ["a"]>>
  // CHECK: %[[L:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[ZERO]])
  // CHECK-NOT: pmap.all_reduce
  // CHECK: arith.addf %[[A]], %{{.*}} : tensor<f32, #pmap.layout<[], ["a"]>>
  // CHECK: %[[S:.*]] = pmap.all_reduce sum(%[[L]]) over ["a"]
  // CHECK: %[[R:.*]] = arith.addf %[[INIT]], %[[S]]
  // CHECK: return %[[R]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> tensor<f32> {
    %1 = pmap.from_index %i : !scalar
    %2 = arith.mulf %1, %x : !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    %4 = arith.addf %a, %3 : tensor<f32>
    scf.yield %4 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// A maximum begins with what it began with.
// CHECK-LABEL: func.func @greatest
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>, %[[INIT:[^:]*]]: tensor<f32>
func.func @greatest(%x: !scalar, %init: tensor<f32>, %n: index) -> tensor<f32> {
  // CHECK: %[[W:.*]] = pmap.widen %[[INIT]]
  // CHECK: %[[L:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[W]])
  // CHECK: arith.maximumf
  // CHECK: %[[S:.*]] = pmap.all_reduce max(%[[L]]) over ["a"]
  // CHECK-NEXT: return %[[S]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> tensor<f32> {
    %1 = pmap.from_index %i : !scalar
    %2 = arith.mulf %1, %x : !scalar
    %3 = pmap.all_reduce max (%2) over ["a"] : (!scalar) -> tensor<f32>
    %4 = arith.maximumf %3, %a : tensor<f32>
    scf.yield %4 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// Of several values that travel together, the one that is only added up leaves.
// CHECK-LABEL: func.func @one_of_two
func.func @one_of_two(%x: !scalar, %init: tensor<f32>, %n: index) -> (tensor<f32>, tensor<f32>) {
  // CHECK: scf.for
  // CHECK: pmap.all_reduce sum(%{{[^,]*}}) over ["a"]
  // CHECK: scf.yield
  // CHECK: pmap.all_reduce sum(%{{[^,]*}}) over ["a"]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %b = %init) -> (tensor<f32>, tensor<f32>) {
    %1 = pmap.widen %b : tensor<f32> to !scalar
    %2 = arith.mulf %1, %x : !scalar
    %3:2 = pmap.all_reduce sum (%2, %1) over ["a"] : (!scalar, !scalar) -> (tensor<f32>, tensor<f32>)
    %4 = arith.addf %a, %3#0 : tensor<f32>
    %5 = arith.mulf %b, %3#1 : tensor<f32>
    scf.yield %4, %5 : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// Read in the loop, multiplied, of a narrow float, or under a condition: it stays.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: !scalar, %h: !half, %init: tensor<f32>, %hinit: tensor<bf16>, %c: i1, %n: index) -> (tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>) {
  // CHECK: scf.for
  // CHECK-COUNT-4: pmap.all_reduce
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}
  // CHECK-NOT: pmap.all_reduce
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:4 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %b = %init, %d = %hinit, %e = %init) -> (tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>) {
    %1 = pmap.widen %a : tensor<f32> to !scalar
    %2 = arith.mulf %1, %x : !scalar
    %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
    %4 = arith.addf %a, %3 : tensor<f32>
    %5 = pmap.from_index %i : !scalar
    %6 = pmap.all_reduce sum (%5) over ["a"] : (!scalar) -> tensor<f32>
    %7 = arith.mulf %b, %6 : tensor<f32>
    %8 = pmap.from_index %i : !half
    %9 = pmap.all_reduce sum (%8) over ["a"] : (!half) -> tensor<bf16>
    %10 = arith.addf %d, %9 : tensor<bf16>
    %11 = scf.if %c -> tensor<f32> {
      %12 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
      %13 = arith.addf %e, %12 : tensor<f32>
      scf.yield %13 : tensor<f32>
    } else {
      scf.yield %e : tensor<f32>
    }
    scf.yield %4, %7, %10, %11 : tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>
}

// P5: what no trip changes goes to the devices once.
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
// CHECK-LABEL: func.func @movement
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Y:[^:]*]]: tensor<4xf32>
func.func @movement(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // CHECK: pmap.move %[[X]]
  // CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %[[Y]])
  // CHECK-NOT: pmap.move %[[X]]
  // CHECK: pmap.move %[[A]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %y) -> (tensor<4xf32>) {
    %1 = pmap.move %x : tensor<4xf32> to !whole
    %2 = pmap.move %a : tensor<4xf32> to !whole
    %3 = pmap.map <["a"], [2]> sizes() [] (%1, %2) : (!whole, !whole) -> !whole {
    ^bb0(%b: tensor<2xf32, #pmap.layout<["2"], ["a"]>>, %c: tensor<2xf32, #pmap.layout<["2"], ["a"]>>):
      %5 = arith.addf %b, %c : tensor<2xf32, #pmap.layout<["2"], ["a"]>>
      pmap.yield %5 : tensor<2xf32, #pmap.layout<["2"], ["a"]>>
    }
    %4 = pmap.move %3 : !whole to tensor<4xf32>
    scf.yield %4 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// A size that the loop binds is not known before it.
// CHECK-LABEL: func.func @size_of_the_loop
func.func @size_of_the_loop(%x: !scalar, %n: index) {
  // CHECK: scf.for
  // CHECK: pmap.all_reduce
  // CHECK: }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %k = pmap.bind_size %i as "k"
    %0 = pmap.broadcast %x dims [] : !scalar -> tensor<?xf32, #pmap.layout<["k"], ["a"]>>
    %1 = pmap.all_reduce sum (%0) over ["a"] : (tensor<?xf32, #pmap.layout<["k"], ["a"]>>) -> tensor<?xf32, #pmap.layout<["k"], []>>
    pmap.print "{}" (%1) ["f32"] : tensor<?xf32, #pmap.layout<["k"], []>>
  }
  return
}
