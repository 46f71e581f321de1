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

// What its neighbours contribute to the gradient of a stencil: a sum of padded products. No array of them is left; the
// points inside compute the products where they are.
// CHECK-LABEL: func @sum_of_padded_products
// CHECK-SAME:    %{{.*}}: index, %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>, %[[ZERO:.*]]: f32
// CHECK-NOT:     linalg.fill
// The first point takes in one product or none.
// CHECK:         linalg.generic
// CHECK:           scf.if
// CHECK:             tensor.extract %[[X]]
// CHECK:             tensor.extract %[[Y]]
// CHECK:             arith.mulf
// CHECK:             scf.yield %[[ZERO]]
// CHECK:         linalg.generic
// All others.
// CHECK:         linalg.generic
// CHECK-NOT:       scf.if
// CHECK:           arith.mulf
// CHECK:           arith.mulf
// CHECK:           arith.addf
// CHECK:           linalg.yield
// CHECK-NOT:     linalg.generic
func.func @sum_of_padded_products(%n: index, %x: tensor<?xf32>, %y: tensor<?xf32>, %zero: f32) -> tensor<?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %more = arith.addi %n, %c2 : index
  %small = tensor.empty(%n) : tensor<?xf32>
  %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%small : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<?xf32>
  %empty = tensor.empty(%more) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %left = tensor.insert_slice %product into %zeros[0] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %right = tensor.insert_slice %product into %zeros[2] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%left, %right : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %middle = tensor.extract_slice %sum[1] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %half = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%middle : tensor<?xf32>) outs(%small : tensor<?xf32>) {
  ^bb0(%m: f32, %o: f32):
    %s = arith.negf %m : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %half : tensor<?xf32>
}

// A reduction goes on from region to region.
// CHECK-LABEL: func @sum_of_neighbours
// CHECK-SAME:    %{{.*}}: index, %[[X:.*]]: tensor<?xf32>, %[[ACC:.*]]: tensor<f32>
// CHECK-NOT:     tensor.insert_slice
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} outs(%[[ACC]] : tensor<f32>)
// CHECK:         %[[REST:.*]] = linalg.generic {{.*}} outs(%[[FIRST]] : tensor<f32>)
// CHECK:         return %[[REST]]
func.func @sum_of_neighbours(%n: index, %x: tensor<?xf32>, %acc: tensor<f32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %more = arith.addi %n, %c1 : index
  %empty = tensor.empty(%more) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %padded = tensor.insert_slice %x into %zeros[1] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %left = tensor.extract_slice %padded[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %here = tensor.extract_slice %padded[1] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%left, %here : tensor<?xf32>, tensor<?xf32>) outs(%acc : tensor<f32>) {
  ^bb0(%l: f32, %h: f32, %o: f32):
    %p = arith.mulf %l, %h : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

// One element of an array that was put together is read from its piece, where it is certain to lie there: the array is
// never made. The element in front of the array is the margin; its first one is there only if the array is not empty.
// CHECK-LABEL: func @elements
// CHECK-SAME:    %[[N:.*]]: index, %[[X:.*]]: tensor<?xf32>, %[[EDGE:.*]]: f32
// CHECK-NOT:     insert_slice
// CHECK:         %[[IS:.*]] = arith.cmpi slt, %c0, %[[N]]
// CHECK:         %[[FIRST:.*]] = scf.if %[[IS]]
// CHECK:           tensor.extract %[[X]][%c0]
// CHECK:           scf.yield %[[EDGE]]
// CHECK:         return %[[EDGE]], %[[FIRST]]
func.func @elements(%n: index, %x: tensor<?xf32>, %edge: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %more = arith.addi %n, %c2 : index
  %empty = tensor.empty(%more) : tensor<?xf32>
  %filled = linalg.fill ins(%edge : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %padded = tensor.insert_slice %x into %filled[1] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  %front = tensor.extract %padded[%c0] : tensor<?xf32>
  %first = tensor.extract %padded[%c1] : tensor<?xf32>
  return %front, %first : f32, f32
}
