// RUN: %pmap-opt %s --pmap-cpu-outline-parallel --pmap-cpu-packed-calls | FileCheck %s

func.func private @pmap.work(index)

// The body of a parallel loop is a function over a range of its iterations. Little work is done by a direct call.
// CHECK-LABEL: llvm.func internal @scale.body0(
// CHECK-SAME: %[[CLOSURE:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64
// CHECK: llvm.load
// CHECK: scf.for
// CHECK: memref.store
// CHECK-LABEL: func.func @scale
// CHECK: scf.if
// CHECK: llvm.call @scale.body0
// CHECK: else
// CHECK: llvm.mlir.addressof @scale.body0
// CHECK: llvm.call @pmap_rt_parallel_for
// CHECK-NOT: pmap.work
// CHECK-LABEL: llvm.func @scale.packed(%{{.*}}: !llvm.ptr)
// CHECK: call @scale
func.func @scale(%n: index, %x: memref<?xf32>, %v: f32) {
  scf.forall (%i) in (%n) {
    func.call @pmap.work(%n) : (index) -> ()
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}

// Several dimensions become one.
// CHECK-LABEL: llvm.func internal @plane.body1(
// CHECK: arith.remui
// CHECK: arith.divui
func.func @plane(%n: index, %d: index, %x: memref<?x?xf32>, %v: f32) {
  scf.forall (%i, %j) in (%n, %d) {
    memref.store %v, %x[%i, %j] : memref<?x?xf32>
  }
  return
}
