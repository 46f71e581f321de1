// An array that a loop carries and stacks lives in the stack, of one row more: a trip reads its row and makes the next one.
// RUN: %pmap-opt %s --pass-pipeline='builtin.module(func.func(pmap-cpu-stack-in-place,canonicalize,cse))' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @stacked
// CHECK-SAME:    %[[N:.*]]: index, %[[TRIPS:.*]]: index, %[[X:.*]]: memref<?xf32>
// CHECK:         %[[ROW:.*]] = arith.muli %[[N]], %c4
// CHECK:         %[[ROWS:.*]] = arith.addi %[[TRIPS]], %c1
// CHECK:         %[[ALL:.*]] = arith.muli %[[ROWS]], %[[ROW]]
// CHECK:         %[[BYTES:.*]] = memref.alloc(%[[ALL]]) : memref<?xi8>
// What the loop begins with goes into the first row, once.
// CHECK:         %[[FIRST:.*]] = memref.view %[[BYTES]]
// CHECK:         memref.copy %[[X]], %[[FIRST]]
// CHECK:         scf.for %[[I:.*]] = %c0 to %[[TRIPS]] step %c1 {
// CHECK-NOT:       memref.copy
// CHECK-NOT:       memref.alloc
// CHECK:           %[[OFFSET:.*]] = arith.muli %[[I]], %[[ROW]]
// CHECK:           %[[CURRENT:.*]] = memref.view %[[BYTES]][%[[OFFSET]]][%[[N]]]
// CHECK:           %[[NEXT:.*]] = memref.view %[[BYTES]]
// CHECK:           linalg.generic {{.*}} ins(%[[CURRENT]] : memref<?xf32>) outs(%[[NEXT]] : memref<?xf32>)
// CHECK-NOT:       memref.copy
// CHECK:         }
// The last row is returned in a buffer of its own, the stack without it.
// CHECK:         %[[LAST:.*]] = memref.view %[[BYTES]]
// CHECK:         %[[OWN:.*]] = memref.alloc(%[[N]])
// CHECK:         memref.copy %[[LAST]], %[[OWN]]
// CHECK:         return %[[OWN]]
func.func @stacked(%n: index, %trips: index, %x: memref<?xf32>) -> (memref<?xf32>, memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %stack = memref.alloc(%trips, %n) : memref<?x?xf32>
  %start = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %start : memref<?xf32> to memref<?xf32>
  %end = scf.for %i = %c0 to %trips step %c1 iter_args(%v = %start) -> (memref<?xf32>) {
    %row = memref.subview %stack[%i, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    memref.copy %v, %row : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %next = memref.alloc(%n) : memref<?xf32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%v : memref<?xf32>) outs(%next : memref<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.mulf %in, %in : f32
      linalg.yield %0 : f32
    }
    scf.yield %next : memref<?xf32>
  }
  return %end, %stack : memref<?xf32>, memref<?x?xf32>
}

// One that is written where it lies is copied, as before.
// CHECK-LABEL: func.func @overwritten
// CHECK:         scf.for
// CHECK:           memref.copy
func.func @overwritten(%n: index, %trips: index, %start: memref<?xf32>) -> memref<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %stack = memref.alloc(%trips, %n) : memref<?x?xf32>
  %end = scf.for %i = %c0 to %trips step %c1 iter_args(%v = %start) -> (memref<?xf32>) {
    %row = memref.subview %stack[%i, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    memref.copy %v, %row : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%v : memref<?xf32>) {
    ^bb0(%out: f32):
      %0 = arith.mulf %out, %out : f32
      linalg.yield %0 : f32
    }
    %next = memref.alloc(%n) : memref<?xf32>
    memref.copy %v, %next : memref<?xf32> to memref<?xf32>
    scf.yield %next : memref<?xf32>
  }
  return %stack : memref<?x?xf32>
}

// Of a stack, only the rows that the loop does not write are filled.
// CHECK-LABEL: func.func @rest
// CHECK-SAME:    %[[N:.*]]: index, %[[ROWS:.*]]: index, %[[TRIPS:.*]]: index
// CHECK:         %[[STACK:.*]] = memref.alloc(%[[ROWS]], %[[N]])
// CHECK:         %[[MADE:.*]] = arith.maxsi %[[TRIPS]], %c0
// CHECK:         %[[WRITTEN:.*]] = arith.minsi %[[MADE]], %[[ROWS]]
// CHECK:         %[[COUNT:.*]] = arith.subi %[[ROWS]], %[[WRITTEN]]
// CHECK:         %[[REST:.*]] = memref.subview %[[STACK]][%[[WRITTEN]], 0] [%[[COUNT]], %[[N]]] [1, 1]
// CHECK:         linalg.fill {{.*}} outs(%[[REST]]
// CHECK:         scf.for
// A row that is read before it is written needs its zeros.
// CHECK-LABEL: func.func @read_first
// CHECK:         %[[STACK:.*]] = memref.alloc
// CHECK:         linalg.fill {{.*}} outs(%[[STACK]]
func.func @rest(%n: index, %rows: index, %trips: index, %x: memref<?xf32>) -> memref<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %stack = memref.alloc(%rows, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%stack : memref<?x?xf32>)
  scf.for %i = %c0 to %trips step %c1 {
    %row = memref.subview %stack[%i, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    memref.copy %x, %row : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  }
  return %stack : memref<?x?xf32>
}

func.func @read_first(%n: index, %rows: index, %trips: index, %x: memref<?xf32>) -> memref<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %stack = memref.alloc(%rows, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%stack : memref<?x?xf32>)
  scf.for %i = %c0 to %trips step %c1 {
    %row = memref.subview %stack[%i, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    memref.copy %row, %x : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32>
    memref.copy %x, %row : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  }
  return %stack : memref<?x?xf32>
}
