// C4: collectives that need not wait for each other are one.
// RUN: %pmap-opt %s --pmap-fuse-collectives | FileCheck %s

!scalar = tensor<f32, #pmap.layout<[], ["a"]>>
!both = tensor<f32, #pmap.layout<[], ["a", "b"]>>
!local = tensor<?xf32, #pmap.layout<["n"], ["a"]>>
!vec = tensor<?xf32, #pmap.layout<["n"], []>>
!half = tensor<bf16, #pmap.layout<[], ["a"]>>

// CHECK-LABEL: func.func @fused
func.func @fused(%x: !scalar, %y: !scalar) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: %[[S:.*]]:2 = pmap.all_reduce sum(%{{.*}}, %{{.*}}) over ["a"]
  // CHECK-NEXT: return %[[S]]#0, %[[S]]#1
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = pmap.all_reduce sum (%y) over ["a"] : (!scalar) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// What reads the first moves behind the second, a loop with a collective of its own included.
// CHECK-LABEL: func.func @between
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>, %[[Y:[^:]*]]: tensor<f32, #pmap.layout<[], ["a"]>>
func.func @between(%x: !scalar, %y: !scalar, %n: index) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[Z:.*]] = math.exp %[[Y]]
  // CHECK: %[[S:.*]]:2 = pmap.all_reduce sum(%[[X]], %[[Z]]) over ["a"]
  // CHECK: %[[E:.*]] = math.exp %[[S]]#0
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[E]])
  // CHECK: pmap.all_reduce max
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = math.exp %0 : tensor<f32>
  %2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %1) -> tensor<f32> {
    %3 = pmap.widen %c : tensor<f32> to !scalar
    %4 = arith.mulf %3, %x : !scalar
    %5 = pmap.all_reduce max (%4) over ["a"] : (!scalar) -> tensor<f32>
    scf.yield %5 : tensor<f32>
  }
  %6 = math.exp %y : !scalar
  %7 = pmap.all_reduce sum (%6) over ["a"] : (!scalar) -> tensor<f32>
  return %2, %7 : tensor<f32>, tensor<f32>
}

// A mean is a sum and a division where there is a sum to travel with.
// CHECK-LABEL: func.func @mean
func.func @mean(%x: !scalar, %y: !local) -> (tensor<f32>, !vec) attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[S:.*]]:2 = pmap.all_reduce sum(
  // CHECK: %[[N:.*]] = pmap.size "@a"
  // CHECK: %[[F:.*]] = pmap.from_index %[[N]]
  // CHECK: %[[M:.*]] = arith.divf %[[S]]#0, %[[F]]
  // CHECK: return %[[M]], %[[S]]#1
  %0 = pmap.all_reduce mean (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = pmap.all_reduce sum (%y) over ["a"] : (!local) -> !vec
  return %0, %1 : tensor<f32>, !vec
}

// The mean of a narrow float is divided before it is rounded (C2), and stays by itself.
// CHECK-LABEL: func.func @narrow_mean
func.func @narrow_mean(%x: !half, %y: !half) -> (tensor<bf16>, tensor<bf16>) {
  // CHECK-NEXT: pmap.all_reduce mean
  // CHECK-NEXT: pmap.all_reduce sum
  %0 = pmap.all_reduce mean (%x) over ["a"] : (!half) -> tensor<bf16>
  %1 = pmap.all_reduce sum (%y) over ["a"] : (!half) -> tensor<bf16>
  return %0, %1 : tensor<bf16>, tensor<bf16>
}

// The second needs the first: two stay two.
// CHECK-LABEL: func.func @dependent
func.func @dependent(%x: !scalar) -> tensor<f32> {
  // CHECK-COUNT-2: pmap.all_reduce
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = pmap.widen %0 : tensor<f32> to !scalar
  %2 = arith.mulf %1, %x : !scalar
  %3 = pmap.all_reduce sum (%2) over ["a"] : (!scalar) -> tensor<f32>
  return %3 : tensor<f32>
}

// What a user sees keeps its place: the assert is before the second collective.
// CHECK-LABEL: func.func @effect
func.func @effect(%x: !scalar, %y: !scalar) -> tensor<f32> {
  // CHECK: pmap.all_reduce
  // CHECK: pmap.assert
  // CHECK: pmap.all_reduce
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = arith.cmpf ogt, %0, %zero : tensor<f32>
  pmap.assert %1, "positive" : tensor<i1>
  %2 = pmap.all_reduce sum (%y) over ["a"] : (!scalar) -> tensor<f32>
  return %2 : tensor<f32>
}

// Other axes, other kinds, other groups, other blocks: apart.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: !both, %c: i1, %d: !scalar) -> (!scalar, tensor<f32, #pmap.layout<[], ["b"]>>, !both, !both, tensor<f32>) {
  // CHECK-COUNT-5: pmap.all_reduce
  %0 = pmap.all_reduce sum (%x) over ["b"] : (!both) -> !scalar
  %1 = pmap.all_reduce sum (%x) over ["a"] : (!both) -> tensor<f32, #pmap.layout<[], ["b"]>>
  %2 = pmap.all_reduce sum (%x) over ["a"] groups [array<i64: 0, 1>] : (!both) -> !both
  %3 = pmap.all_reduce max (%x) over ["a"] groups [array<i64: 0, 1>] : (!both) -> !both
  %4 = scf.if %c -> tensor<f32> {
    %5 = pmap.all_reduce sum (%d) over ["a"] : (!scalar) -> tensor<f32>
    scf.yield %5 : tensor<f32>
  } else {
    %zero = arith.constant dense<0.0> : tensor<f32>
    scf.yield %zero : tensor<f32>
  }
  return %0, %1, %2, %3, %4 : !scalar, tensor<f32, #pmap.layout<[], ["b"]>>, !both, !both, tensor<f32>
}

// One that was done before is not done again: neither in the same block nor in one within it.
// CHECK-LABEL: func.func @repeated
func.func @repeated(%x: !scalar, %y: !local, %c: i1) -> (tensor<f32>, tensor<f32>, tensor<?xf32, #pmap.layout<["@a*n"], []>>) attributes {pmap.sizes = ["n"]} {
  // CHECK: %[[S:.*]] = pmap.all_reduce sum
  // CHECK: %[[G:.*]] = pmap.all_gather
  // CHECK-NOT: pmap.all
  // CHECK: scf.yield %[[S]]
  // CHECK: return %[[S]], %{{.*}}, %[[G]]
  %0 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %1 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %2 = pmap.all_gather %y over ["a"] dim 0 tiled : !local -> tensor<?xf32, #pmap.layout<["@a*n"], []>>
  %3 = pmap.all_gather %y over ["a"] dim 0 tiled : !local -> tensor<?xf32, #pmap.layout<["@a*n"], []>>
  %4 = scf.if %c -> tensor<f32> {
    %5 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
    scf.yield %5 : tensor<f32>
  } else {
    scf.yield %1 : tensor<f32>
  }
  return %1, %4, %3 : tensor<f32>, tensor<f32>, tensor<?xf32, #pmap.layout<["@a*n"], []>>
}

// What only one branch does the other has not done.
// CHECK-LABEL: func.func @branches
func.func @branches(%x: !scalar, %c: i1) -> tensor<f32> {
  // CHECK-COUNT-3: pmap.all_reduce
  %0 = scf.if %c -> tensor<f32> {
    %1 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  } else {
    %2 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
    scf.yield %2 : tensor<f32>
  }
  %3 = pmap.all_reduce sum (%x) over ["a"] : (!scalar) -> tensor<f32>
  %4 = arith.addf %0, %3 : tensor<f32>
  return %4 : tensor<f32>
}
