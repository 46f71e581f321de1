// RUN: %pmap-opt --pmap-cuda-place-scalars %s | FileCheck %s

func.func private @pmap_rt_fail(!llvm.ptr, i32, i64, i64, i64)
llvm.mlir.global internal constant @among(dense<[1, 0, 0]> : tensor<3xi32>) : !llvm.array<3 x i32>

// A scalar carried around a training loop: no word from the device until the loop ends, then one read.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[B:.*]] = %{{.*}}) -> (tensor<f32>)
// CHECK-NOT: tensor.extract
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}["reduction"]} ins(%{{.*}}, %[[B]] : tensor<?xf32>, tensor<f32>)
// CHECK: %[[STEP:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f32>)
// CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[B]], %[[STEP]] : tensor<f32>, tensor<f32>)
// CHECK: scf.yield %[[NEXT]] : tensor<f32>
// CHECK: tensor.extract %{{.*}}[] {pmap.host_read = "a result"} : tensor<f32>
func.func @carried(%x: tensor<?xf32>, %lr: f32, %steps: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%b = %zero) -> (f32) {
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<?xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %d = arith.subf %in, %b : f32
      %a = arith.addf %out, %d : f32
      linalg.yield %a : f32
    } -> tensor<f32>
    %v = tensor.extract %s[] : tensor<f32>
    %m = arith.mulf %lr, %v : f32
    %n = arith.subf %b, %m : f32
    scf.yield %n : f32
  }
  return %r : f32
}

// A while loop on a number of the device: one read for each trip, and the comparison is the host's.
// CHECK-LABEL: func.func @until
// CHECK: scf.while
// CHECK: %[[E:.*]] = tensor.extract %{{.*}}[] {pmap.host_read = "the condition of a while loop"} : tensor<f32>
// CHECK: %[[C:.*]] = arith.cmpf ogt, %[[E]], %{{.*}} : f32
// CHECK: scf.condition(%[[C]])
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @until(%x: tensor<f32>, %least: f32) -> tensor<f32> {
  %r = scf.while (%y = %x) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %y[] : tensor<f32>
    %c = arith.cmpf ogt, %v, %least : f32
    scf.condition(%c) %y : tensor<f32>
  } do {
  ^bb0(%y: tensor<f32>):
    %e = tensor.empty() : tensor<f32>
    %h = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
        ins(%y : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.mulf %in, %in : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    scf.yield %h : tensor<f32>
  }
  return %r : tensor<f32>
}

// Sizes and trip counts are the host's: an index that comes from an array is read.
// CHECK-LABEL: func.func @trips
// CHECK: %[[N:.*]] = tensor.extract %{{.*}}[%{{.*}}] {pmap.host_read = "a size, an index or a trip count"} : tensor<?xi32>
// CHECK: arith.index_cast %[[N]] : i32 to index
func.func @trips(%n: tensor<?xi32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %n[%c0] : tensor<?xi32>
  %i = arith.index_cast %v : i32 to index
  %e = tensor.empty(%i) : tensor<?xf32>
  %one = arith.constant 1.0 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %f : tensor<?xf32>
}

// A check of numbers of the device is a kernel: the failure is recorded there, and nobody waits.
// CHECK-LABEL: func.func @checked
// CHECK: %[[BAD:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<i1>)
// CHECK-NOT: scf.if
// CHECK: pmap_rt.call "pmap_cuda_check"({{.*}}) ins(%[[BAD]], {{.*}} : tensor<i1>, tensor<i64>, i64, i64)
func.func @checked(%x: tensor<i64>, %site: !llvm.ptr, %n: i64) -> tensor<i64> {
  %kind = arith.constant 0 : i32
  %v = tensor.extract %x[] : tensor<i64>
  %bad = arith.cmpi sge, %v, %n : i64
  scf.if %bad {
    func.call @pmap_rt_fail(%site, %kind, %v, %n, %n) : (!llvm.ptr, i32, i64, i64, i64) -> ()
  }
  return %x : tensor<i64>
}

// A collective with an array among its operands keeps all of them on the device; one of the host's numbers is the host's.
// CHECK-LABEL: func.func @reduced
// CHECK: pmap_rt.call "pmap_rt_all_reduce"({{.*}}) ins(%{{.*}} : f32) -> f32
// CHECK: pmap_rt.call "pmap_rt_all_reduce"({{.*}}) ins(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<f32>) outs(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<f32>) -> tensor<?xf32>, tensor<f32>
func.func @reduced(%x: tensor<?xf32>, %e: tensor<?xf32>, %site: !llvm.ptr, %h: f32) -> (tensor<?xf32>, tensor<f32>) {
  %among = llvm.mlir.addressof @among : !llvm.ptr
  %k = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %count = pmap_rt.call "pmap_rt_all_reduce"(%site, %among, %k, %k : !llvm.ptr, !llvm.ptr, i32, i32) ins(%h : f32) -> f32
  %v = tensor.extract %x[%c0] : tensor<?xf32>
  %r:2 = pmap_rt.call "pmap_rt_all_reduce"(%site, %among, %k, %k : !llvm.ptr, !llvm.ptr, i32, i32) ins(%x, %v : tensor<?xf32>, f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>, f32
  %o = tensor.empty() : tensor<f32>
  %m = linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%o : tensor<f32>) {
  ^bb0(%out: f32):
    %q = arith.divf %r#1, %count : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %r#0, %m : tensor<?xf32>, tensor<f32>
}

// A function that only moves values keeps its arrays on the host.
// CHECK-LABEL: func.func @moves
// CHECK-SAME: attributes {pmap.on_host}
func.func @moves(%x: tensor<?xf32>, %site: !llvm.ptr) -> tensor<?xf32> {
  %z = arith.constant 0 : i32
  %d = pmap_rt.call "pmap_rt_move_to_dist"(%site, %site, %z : !llvm.ptr, !llvm.ptr, i32) ins(%x : tensor<?xf32>) -> !llvm.ptr
  %h = pmap_rt.call "pmap_rt_move_to_host"(%site, %d, %z : !llvm.ptr, !llvm.ptr, i32) -> tensor<?xf32>
  return %h : tensor<?xf32>
}
