// RUN: %pmap-opt %s --pmap-cpu-insert-frees | FileCheck %s

func.func private @use(memref<?xf32>)

// A buffer is freed after its last use, not at the end of its block.
// CHECK-LABEL: func.func @last_use
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: call @use(%[[A]])
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: return %[[B]]
func.func @last_use(%n: index) -> memref<?xf32> {
  %a = memref.alloc(%n) : memref<?xf32>
  func.call @use(%a) : (memref<?xf32>) -> ()
  %b = memref.alloc(%n) : memref<?xf32>
  func.call @use(%b) : (memref<?xf32>) -> ()
  return %b : memref<?xf32>
}

// A loop that makes a new buffer in each trip hands it on and frees the old one.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}})
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy %[[OLD]], %[[NEW]]
// CHECK-NEXT: memref.dealloc %[[OLD]]
// CHECK-NEXT: scf.yield %[[NEW]]
func.func @carried(%n: index, %steps: index) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%x = %a) -> (memref<?xf32>) {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.copy %x, %b : memref<?xf32> to memref<?xf32>
    scf.yield %b : memref<?xf32>
  }
  return %r : memref<?xf32>
}

// An argument is the caller's: what a branch hands on without owning it is retained.
// CHECK-LABEL: func.func @branch
// CHECK: scf.if
// CHECK: memref.alloc
// CHECK: } else {
// CHECK: llvm.call @pmap_rt_retain
func.func @branch(%c: i1, %n: index, %x: memref<?xf32>) -> memref<?xf32> {
  %r = scf.if %c -> (memref<?xf32>) {
    %a = memref.alloc(%n) : memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    scf.yield %x : memref<?xf32>
  }
  return %r : memref<?xf32>
}

// A function hands an argument, or one buffer twice, on as it is: the caller sees that the results are aliases.
// CHECK-LABEL: func.func @aliases
// CHECK-NOT: pmap_rt_retain
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @aliases(%n: index, %x: memref<?xf32>) -> (memref<?xf32>, memref<?xf32>, memref<?xf32>) {
  %a = memref.alloc(%n) : memref<?xf32>
  return %x, %a, %a : memref<?xf32>, memref<?xf32>, memref<?xf32>
}

// A small buffer of constant size is on the stack.
// CHECK-LABEL: func.func @small
// CHECK: memref.alloca
// CHECK-NOT: memref.dealloc
func.func @small() -> f32 {
  %a = memref.alloc() : memref<f32>
  %r = memref.load %a[] : memref<f32>
  return %r : f32
}

// The shape that a reshape reads does not live on in its result.
// CHECK-LABEL: func.func @shape_of_reshape
// CHECK: memref.alloca() {{.*}} : memref<2xindex>
// CHECK: %[[R:.*]] = memref.reshape
// CHECK: return %[[R]]
func.func @shape_of_reshape(%n: index) -> memref<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  func.call @use(%a) : (memref<?xf32>) -> ()
  %s = memref.alloc() : memref<2xindex>
  memref.store %c1, %s[%c0] : memref<2xindex>
  memref.store %n, %s[%c1] : memref<2xindex>
  %r = memref.reshape %a(%s) : (memref<?xf32>, memref<2xindex>) -> memref<?x?xf32>
  return %r : memref<?x?xf32>
}

// A small buffer whose reference a branch takes stays off the stack: the branch's result outlives the function.
// CHECK-LABEL: func.func @small_branch
// CHECK-NOT: memref.alloca
// CHECK: %[[A:.*]] = memref.alloc() : memref<3xf32>
// CHECK: scf.if
// CHECK: llvm.call @pmap_rt_retain
// CHECK: memref.dealloc %[[A]]
func.func @small_branch(%c: i1, %x: memref<3xf32>) -> memref<3xf32> {
  %a = memref.alloc() : memref<3xf32>
  memref.copy %x, %a : memref<3xf32> to memref<3xf32>
  %r = scf.if %c -> (memref<3xf32>) {
    scf.yield %a : memref<3xf32>
  } else {
    %b = memref.alloc() : memref<3xf32>
    memref.copy %x, %b : memref<3xf32> to memref<3xf32>
    scf.yield %b : memref<3xf32>
  }
  return %r : memref<3xf32>
}

// A device body gives a reference with every result, also with one that may be its argument: a branch that yields the
// argument retains it, and so does a result that is the argument.
// CHECK-LABEL: func.func @device_body
// CHECK: scf.if
// CHECK: llvm.call @pmap_rt_retain
// CHECK-NEXT: scf.yield %arg0
// CHECK: llvm.call @pmap_rt_retain
// CHECK-NEXT: return %{{.*}}, %arg0
func.func @device_body(%x: memref<?xf32>, %c: i1, %n: index) -> (memref<?xf32>, memref<?xf32>) attributes {pmap.device_body} {
  %0 = scf.if %c -> memref<?xf32> {
    scf.yield %x : memref<?xf32>
  } else {
    %a = memref.alloc(%n) : memref<?xf32>
    func.call @use(%a) : (memref<?xf32>) -> ()
    scf.yield %a : memref<?xf32>
  }
  return %0, %x : memref<?xf32>, memref<?xf32>
}

// An entry's caller sees that a result is the argument.
// CHECK-LABEL: func.func @entry
// CHECK-NEXT: return %arg0
func.func @entry(%x: memref<?xf32>) -> memref<?xf32> {
  return %x : memref<?xf32>
}

// A choice that is handed on has its reference before the buffers that it was made from are given back.
// CHECK-LABEL: func.func @choice
// CHECK: scf.for
// CHECK: %[[A:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: %[[C:.*]] = arith.select %{{.*}}, %{{.*}}, %[[A]] : memref<?xf32>
// CHECK: llvm.call @pmap_rt_retain
// CHECK: memref.dealloc %[[A]]
// CHECK: scf.yield %[[C]]
func.func @choice(%x: memref<?xf32>, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %b : memref<?xf32> to memref<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %b) -> memref<?xf32> {
    %a = memref.alloc(%n) : memref<?xf32>
    memref.copy %y, %a : memref<?xf32> to memref<?xf32>
    %s = arith.select %c, %y, %a : memref<?xf32>
    scf.yield %s : memref<?xf32>
  }
  func.call @use(%r) : (memref<?xf32>) -> ()
  return
}
