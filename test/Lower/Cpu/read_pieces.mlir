// Slices of an array that was put together are read from its pieces: no array of n + 2 elements is left, the points inside
// read x alone, and those at the ends know their margin.
// RUN: %pmap-opt --pass-pipeline='builtin.module(func.func(pmap-cpu-read-pieces,cse))' %s | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func @second_difference
// CHECK-SAME:    %[[N:.*]]: index, %[[X:.*]]: tensor<?xf32>, %[[EDGE:.*]]: f32
// CHECK:         %[[OUT:.*]] = tensor.empty(%[[N]])
// CHECK-NOT:     insert_slice %[[X]]
// The first point: its left neighbour is the margin; its right one is x[1], or the margin where there is no x[1].
// CHECK:         linalg.generic
// CHECK:           scf.if
// CHECK:             tensor.extract %[[X]]
// CHECK:             scf.yield %[[EDGE]]
// The last point.
// CHECK:         linalg.generic
// CHECK-NOT:       scf.if
// CHECK:           arith.addf %{{.*}}, %[[EDGE]]
// All others.
// CHECK:         tensor.extract_slice %[[X]]
// CHECK:         linalg.generic
// CHECK-NOT:       tensor.extract %
// CHECK-NOT:       scf.if
// CHECK:           linalg.yield
func.func @second_difference(%n: index, %x: tensor<?xf32>, %edge: f32) -> tensor<?xf32> {
  %c2 = arith.constant 2 : index
  %more = arith.addi %n, %c2 : index
  %empty = tensor.empty(%more) : tensor<?xf32>
  %filled = linalg.fill ins(%edge : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %padded = tensor.insert_slice %x into %filled[1] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %left = tensor.extract_slice %padded[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %right = tensor.extract_slice %padded[2] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %out = tensor.empty(%n) : tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%left, %right : tensor<?xf32>, tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %sum : tensor<?xf32>
}

// An array that is wanted whole is made, once.
// CHECK-LABEL: func @also_returned
// CHECK:         %[[PADDED:.*]] = tensor.insert_slice
// CHECK:         tensor.extract_slice %[[PADDED]]
// CHECK:         return %{{.*}}, %[[PADDED]]
func.func @also_returned(%n: index, %x: tensor<?xf32>, %edge: f32) -> (tensor<?xf32>, tensor<?xf32>) {
  %c1 = arith.constant 1 : index
  %more = arith.addi %n, %c1 : index
  %empty = tensor.empty(%more) : tensor<?xf32>
  %filled = linalg.fill ins(%edge : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %padded = tensor.insert_slice %x into %filled[1] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %left = tensor.extract_slice %padded[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %out = tensor.empty(%n) : tensor<?xf32>
  %negative = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%left : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.negf %l : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %negative, %padded : tensor<?xf32>, tensor<?xf32>
}
