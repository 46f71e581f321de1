// Products of matrices in half precision become products of f32, which the library has.
// RUN: %pmap-opt --pass-pipeline='builtin.module(func.func(pmap-cpu-widen-products))' %s | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// Both matrices are converted, each in a loop of its own that fusion joins with what makes it.
// CHECK-LABEL: func @product
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xf16>) outs(%{{.*}} : tensor<?x?xf32>)
// CHECK:           arith.extf
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xf16>) outs(%{{.*}} : tensor<?x?xf32>)
// CHECK:           arith.extf
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK-NOT:       arith.extf
// CHECK:           arith.mulf
func.func @product(%x: tensor<?x?xf16>, %y: tensor<?x?xf16>, %start: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %z = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<?x?xf16>, tensor<?x?xf16>) outs(%start : tensor<?x?xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %r : f16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// A matrix that is read once stays as small as it is.
// CHECK-LABEL: func @matrix_times_vector
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x?xbf16>, tensor<?xbf16>)
// CHECK-NOT:     linalg.generic
func.func @matrix_times_vector(%x: tensor<?x?xbf16>, %y: tensor<?xbf16>, %start: tensor<?xf32>) -> tensor<?xf32> {
  %z = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<?x?xbf16>, tensor<?xbf16>) outs(%start : tensor<?xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %z : tensor<?xf32>
}

// A product that is known to be small is generated in place.
// CHECK-LABEL: func @small
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x8xf16>, tensor<8x8xf16>)
// CHECK-NOT:     linalg.generic
func.func @small(%x: tensor<8x8xf16>, %y: tensor<8x8xf16>, %start: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<8x8xf16>, tensor<8x8xf16>) outs(%start : tensor<8x8xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %r : f16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// What does not change in a loop is converted before it.
// CHECK-LABEL: func @loop
// CHECK:         linalg.generic {{.*}} ins(%[[WEIGHTS:.*]] : tensor<?x?xf16>)
// CHECK:         scf.for
// CHECK:           linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xf16>)
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?x?xf32>)
func.func @loop(%n: index, %x: tensor<?x?xf16>, %w: tensor<?x?xf16>, %start: tensor<?x?xf32>) -> tensor<?x?xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> tensor<?x?xf16> {
    %z = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%h, %w : tensor<?x?xf16>, tensor<?x?xf16>) outs(%start : tensor<?x?xf32>) {
    ^bb0(%l: f16, %r: f16, %o: f32):
      %lw = arith.extf %l : f16 to f32
      %rw = arith.extf %r : f16 to f32
      %p = arith.mulf %lw, %rw : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<?x?xf32>
    %next = arith.truncf %z : tensor<?x?xf32> to tensor<?x?xf16>
    scf.yield %next : tensor<?x?xf16>
  }
  return %r : tensor<?x?xf16>
}
