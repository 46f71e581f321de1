// RUN: %pmap-opt %s --pmap-cpu-lower-kernels --cse | FileCheck %s

#image = affine_map<(b, n, m, d, c) -> (b, n, m, c)>
#kernel = affine_map<(b, n, m, d, c) -> (c, d)>
#sum = affine_map<(b, n, m, d, c) -> (b, n, m, d)>

// Loops that only add up products of slices, which move evenly, are loops of the call: two more rows of its table.
// CHECK-LABEL: func.func @places
// CHECK-NOT: scf.for
// CHECK: %[[SUMMED:.*]] = arith.constant 2 : i32
// CHECK: llvm.call @pmap_rt_gemm_batch_f32({{[^,]*}}, {{[^,]*}}, %[[SUMMED]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @places(%b: index, %n: index, %c: index, %wide: memref<?x?x?x?xf32>, %kernel: memref<3x5x?x?xf32>) -> memref<?x?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %r = memref.alloc(%b, %n, %n, %c) : memref<?x?x?x?xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    %back = arith.subi %c2, %i : index
    scf.for %j = %c0 to %c5 step %c1 {
      %x = memref.subview %wide[0, %i, %j, 0] [%b, %n, %n, %c] [1, 1, 1, 1] : memref<?x?x?x?xf32> to memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
      %k = memref.subview %kernel[%back, %j, 0, 0] [1, 1, %c, %c] [1, 1, 1, 1] : memref<3x5x?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      linalg.generic {indexing_maps = [#image, #kernel, #sum], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
          ins(%x, %k : memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<?x?xf32, strided<[?, 1], offset: ?>>) outs(%r : memref<?x?x?x?xf32>) {
      ^bb0(%in: f32, %in2: f32, %out: f32):
        %0 = arith.mulf %in, %in2 : f32
        %1 = arith.addf %out, %0 : f32
        linalg.yield %1 : f32
      }
    }
  }
  return %r : memref<?x?x?x?xf32>
}

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// A loop that reads what an earlier trip wrote goes on trip by trip.
// CHECK-LABEL: func.func @recurrence
// CHECK: scf.for
func.func @recurrence(%n: index, %steps: index, %w: memref<?x?xf32>) -> memref<?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = memref.alloc(%steps, %n, %n) : memref<?x?x?xf32>
  scf.for %i = %c1 to %steps step %c1 {
    %before = arith.subi %i, %c1 : index
    %x = memref.subview %r[%before, 0, 0] [1, %n, %n] [1, 1, 1] : memref<?x?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
    %y = memref.subview %r[%i, 0, 0] [1, %n, %n] [1, 1, 1] : memref<?x?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
    linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?x?xf32>) outs(%y : memref<?x?xf32, strided<[?, 1], offset: ?>>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %0 = arith.mulf %in, %in2 : f32
      %1 = arith.addf %out, %0 : f32
      linalg.yield %1 : f32
    }
  }
  return %r : memref<?x?x?xf32>
}

// So does one whose offsets do not grow evenly.
// CHECK-LABEL: func.func @squares
// CHECK: scf.for
func.func @squares(%n: index, %steps: index, %w: memref<?x?xf32>, %u: memref<?x?x?xf32>) -> memref<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = memref.alloc(%n, %n) : memref<?x?xf32>
  scf.for %i = %c0 to %steps step %c1 {
    %square = arith.muli %i, %i : index
    %x = memref.subview %u[%square, 0, 0] [1, %n, %n] [1, 1, 1] : memref<?x?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
    linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?x?xf32>) outs(%r : memref<?x?xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %0 = arith.mulf %in, %in2 : f32
      %1 = arith.addf %out, %0 : f32
      linalg.yield %1 : f32
    }
  }
  return %r : memref<?x?xf32>
}
