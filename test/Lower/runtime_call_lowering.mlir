// RUN: %pmap-opt %s --pmap-cpu-bufferize | FileCheck %s --check-prefix=BUFFER
// RUN: %pmap-opt %s --pmap-cpu-bufferize --pmap-lower-runtime-calls | FileCheck %s

// A call reads its inputs, writes its destinations, and travels with scalars through storage on the stack.
// BUFFER-LABEL: func.func @reduce
// BUFFER: %[[OUT:.*]] = memref.alloc
// BUFFER: pmap_rt.call "pmap_rt_all_reduce"{{.*}} ins(%{{.*}}, %{{.*}} : memref<?xf32>, f32) outs(%[[OUT]] : memref<?xf32>) -> f32
// CHECK-LABEL: func.func @reduce
// CHECK: llvm.alloca
// CHECK: llvm.call @pmap_rt_all_reduce(%{{.*}}) : (!llvm.ptr, !llvm.ptr, i32, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// CHECK: llvm.load %{{.*}} -> f32
func.func @reduce(%n: index, %x: tensor<?xf32> {bufferization.writable = false}, %s: f32, %site: !llvm.ptr, %among: !llvm.ptr) -> (tensor<?xf32>, f32) {
  %kind = arith.constant 0 : i32
  %dtype = arith.constant 11 : i32
  %e = tensor.empty(%n) : tensor<?xf32>
  %r:2 = pmap_rt.call "pmap_rt_all_reduce"(%site, %among, %kind, %dtype : !llvm.ptr, !llvm.ptr, i32, i32) ins(%x, %s : tensor<?xf32>, f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>, f32
  return %r#0, %r#1 : tensor<?xf32>, f32
}

// An array that the runtime makes comes back as a descriptor.
// CHECK-LABEL: func.func @gather
// CHECK: llvm.call @pmap_rt_move_to_host
// CHECK: %[[D:.*]] = llvm.load %{{.*}} -> !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
// CHECK: builtin.unrealized_conversion_cast %[[D]] {{.*}} to memref<?xf32>
func.func @gather(%site: !llvm.ptr, %value: !llvm.ptr) -> tensor<?xf32> {
  %last = arith.constant 1 : i32
  %r = pmap_rt.call "pmap_rt_move_to_host"(%site, %value, %last : !llvm.ptr, !llvm.ptr, i32) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
