// RUN: %pmap-opt %s --pmap-cpu-bufferize --pmap-cpu-lower-kernels | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>
#full = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// A whole array is reduced in blocks of 8192 elements, whatever the number of threads, each into a partial result; then the
// partial results in order. The fill with the identity is gone.
// CHECK-LABEL: func.func @total
// CHECK: %[[BLOCKS:.*]] = arith.ceildivsi %{{.*}}, %c8192
// CHECK: %[[PARTIAL:.*]] = memref.alloc(%[[BLOCKS]]) : memref<?xf32>
// CHECK: scf.forall
// CHECK-COUNT-4: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.maskedload
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.shuffle
// CHECK: scf.for
// CHECK: vector.load %[[PARTIAL]]
func.func @total(%x: tensor<?xf32> {bufferization.writable = false}) -> f32 {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction"]} ins(%x : tensor<?xf32>) outs(%f : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %r = tensor.extract %s[] : tensor<f32>
  return %r : f32
}

// A sum over rows reads whole rows: vectors of neighbouring columns advance together, blocks of rows run in parallel.
// CHECK-LABEL: func.func @columns
// CHECK: memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?xf32>
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: vector.load
func.func @columns(%n: index, %d: index, %x: tensor<?x?xf32> {bufferization.writable = false}) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [#full, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}
