// RUN: %pmap-opt --pmap-cpu-bufferize --canonicalize %s | FileCheck %s
// A `while` hands its buffers on without copies, unless two of them could be the same one.

#id = affine_map<(d0) -> (d0)>

// The next iterate is a fresh buffer, and the old one goes into the other place.
// CHECK-LABEL: func.func @swaps
// CHECK: scf.while (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[K:.*]] = %{{.*}})
// CHECK-NOT: memref.copy
// CHECK: scf.condition(%{{.*}}) %[[A]], %[[B]], %{{.*}}
// CHECK-NOT: memref.copy
// CHECK: return
func.func @swaps(%x: tensor<8xf32> {bufferization.writable = false}, %n: index) -> tensor<8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %in : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %r:3 = scf.while (%a = %x, %b = %y, %k = %zero) : (tensor<8xf32>, tensor<8xf32>, index) -> (tensor<8xf32>, tensor<8xf32>, index) {
    %more = arith.cmpi slt, %k, %n : index
    scf.condition(%more) %a, %b, %k : tensor<8xf32>, tensor<8xf32>, index
  } do {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: index):
    %f = tensor.empty() : tensor<8xf32>
    %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %out: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %l = arith.addi %k, %one : index
    scf.yield %b, %next, %l : tensor<8xf32>, tensor<8xf32>, index
  }
  return %r#0 : tensor<8xf32>
}

// Both places get the same iterate, and a body may write to either: one is copied.
// CHECK-LABEL: func.func @shares
// CHECK: scf.while
// CHECK: memref.copy
// CHECK: scf.condition
func.func @shares(%x: tensor<8xf32> {bufferization.writable = false}, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:3 = scf.while (%a = %x, %b = %x, %k = %zero) : (tensor<8xf32>, tensor<8xf32>, index) -> (tensor<8xf32>, tensor<8xf32>, index) {
    %more = arith.cmpi slt, %k, %n : index
    scf.condition(%more) %a, %b, %k : tensor<8xf32>, tensor<8xf32>, index
  } do {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: index):
    %f = tensor.empty() : tensor<8xf32>
    %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %out: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %l = arith.addi %k, %one : index
    scf.yield %next, %next, %l : tensor<8xf32>, tensor<8xf32>, index
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}
