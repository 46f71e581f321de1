// RUN: %pmap-opt %s --pmap-cpu-bufferize --pmap-cpu-lower-kernels | FileCheck %s

#a = affine_map<(d0, d1, d2) -> (d2, d0)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// A product of matrices is a call of the runtime's library; a transposed operand is told by its strides and never copied, and
// the fill with zero is the call's last argument.
// CHECK-LABEL: func.func @product
// CHECK-NOT: memref.copy
// CHECK-NOT: scf.for
// CHECK: %[[OVERWRITE:.*]] = arith.constant 0 : i32
// CHECK: llvm.call @pmap_rt_gemm_f32({{.*}}, %[[OVERWRITE]])
func.func @product(%m: index, %n: index, %a: tensor<?x?xf32> {bufferization.writable = false}, %b: tensor<?x?xf32> {bufferization.writable = false}) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %0 = arith.mulf %in, %in2 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// Integers are multiplied by generated code, in vectors.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: llvm.call
// CHECK: scf.forall
// CHECK: arith.muli {{.*}} : vector<16xi32>
func.func @integers(%m: index, %n: index, %a: tensor<?x?xi32> {bufferization.writable = false}, %b: tensor<?x?xi32> {bufferization.writable = false}) -> tensor<?x?xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty(%m, %n) : tensor<?x?xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<?x?xi32>) -> tensor<?x?xi32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<?x?xi32>, tensor<?x?xi32>) outs(%f : tensor<?x?xi32>) {
  ^bb0(%in: i32, %in2: i32, %out: i32):
    %0 = arith.muli %in, %in2 : i32
    %1 = arith.addi %out, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<?x?xi32>
  return %r : tensor<?x?xi32>
}

#x = affine_map<(b, h, t, c, d) -> (b, t, d)>
#w = affine_map<(b, h, t, c, d) -> (d, h, c)>
#y = affine_map<(b, h, t, c, d) -> (b, h, t, c)>

// Many products at once are one call, with a table of the loops on the stack; small ones, of sizes known at run time, are
// generated.
// CHECK-LABEL: func.func @batch
// CHECK: %[[PLAN:.*]] = llvm.alloca %{{.*}} x i64
// CHECK: scf.if
// CHECK: %[[OUTER:.*]] = arith.constant 2 : i32
// CHECK: %[[SUMMED:.*]] = arith.constant 0 : i32
// CHECK: llvm.call @pmap_rt_gemm_batch_f32(%[[PLAN]], %[[OUTER]], %[[SUMMED]]
// CHECK: } else {
// CHECK: arith.mulf {{.*}} : vector<16xf32>
func.func @batch(%b: index, %t: index, %h: index, %c: index, %x: tensor<?x?x?xf32> {bufferization.writable = false}, %w: tensor<?x?x?xf32> {bufferization.writable = false}) -> tensor<?x?x?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%b, %h, %t, %c) : tensor<?x?x?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<?x?x?xf32>, tensor<?x?x?xf32>) outs(%f : tensor<?x?x?x?xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %0 = arith.mulf %in, %in2 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?x?x?xf32>
  return %r : tensor<?x?x?x?xf32>
}
