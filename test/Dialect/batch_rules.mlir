// RUN: %pmap-opt %s --pmap-transform --pmap-simplify | FileCheck %s
// Batching rules (P8): what stays one op for all rows.

// Many products of vectors with one matrix are one product of matrices, whichever side the matrix is on.
// CHECK-LABEL: func.func @vector_matrix
// CHECK-SAME: %[[X:.*]]: tensor<8x3xf32>, %[[W:.*]]: tensor<3x4xf32>
// CHECK-NEXT: %[[Y:.*]] = pmap.dot %[[X]], %[[W]] batch [] x [] contract [1] x [0]
// CHECK-NEXT: return %[[Y]]
func.func @vector_matrix(%x: tensor<8x3xf32>, %w: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %0 = pmap.vmap "i" size "8" (%x) : (tensor<8x3xf32>) -> tensor<8x4xf32> {
  ^bb0(%row: tensor<3xf32, #pmap.layout<["3"], ["i"]>>):
    %wide = pmap.widen %w : tensor<3x4xf32> to tensor<3x4xf32, #pmap.layout<["3", "4"], ["i"]>>
    %y = pmap.dot %row, %wide batch [] x [] contract [0] x [0]
      : tensor<3xf32, #pmap.layout<["3"], ["i"]>>, tensor<3x4xf32, #pmap.layout<["3", "4"], ["i"]>> -> tensor<4xf32, #pmap.layout<["4"], ["i"]>>
    pmap.yield %y : tensor<4xf32, #pmap.layout<["4"], ["i"]>>
  }
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @matrix_vector
// CHECK-SAME: %[[X:.*]]: tensor<8x3xf32>, %[[W:.*]]: tensor<4x3xf32>
// CHECK-NEXT: %[[Y:.*]] = pmap.dot %[[X]], %[[W]] batch [] x [] contract [1] x [1]
// CHECK-NEXT: return %[[Y]]
func.func @matrix_vector(%x: tensor<8x3xf32>, %w: tensor<4x3xf32>) -> tensor<8x4xf32> {
  %0 = pmap.vmap "i" size "8" (%x) : (tensor<8x3xf32>) -> tensor<8x4xf32> {
  ^bb0(%row: tensor<3xf32, #pmap.layout<["3"], ["i"]>>):
    %wide = pmap.widen %w : tensor<4x3xf32> to tensor<4x3xf32, #pmap.layout<["4", "3"], ["i"]>>
    %y = pmap.dot %wide, %row batch [] x [] contract [1] x [0]
      : tensor<4x3xf32, #pmap.layout<["4", "3"], ["i"]>>, tensor<3xf32, #pmap.layout<["3"], ["i"]>> -> tensor<4xf32, #pmap.layout<["4"], ["i"]>>
    pmap.yield %y : tensor<4xf32, #pmap.layout<["4"], ["i"]>>
  }
  return %0 : tensor<8x4xf32>
}

// Where both sides have rows these are a batch dimension.
// CHECK-LABEL: func.func @both
// CHECK: pmap.dot %{{.*}}, %{{.*}} batch [0] x [0] contract [2] x [1]
func.func @both(%x: tensor<8x2x3xf32>, %w: tensor<8x3x4xf32>) -> tensor<8x2x4xf32> {
  %0 = pmap.vmap "i" size "8" (%x, %w) : (tensor<8x2x3xf32>, tensor<8x3x4xf32>) -> tensor<8x2x4xf32> {
  ^bb0(%a: tensor<2x3xf32, #pmap.layout<["2", "3"], ["i"]>>, %b: tensor<3x4xf32, #pmap.layout<["3", "4"], ["i"]>>):
    %y = pmap.dot %a, %b batch [] x [] contract [1] x [0]
      : tensor<2x3xf32, #pmap.layout<["2", "3"], ["i"]>>, tensor<3x4xf32, #pmap.layout<["3", "4"], ["i"]>> -> tensor<2x4xf32, #pmap.layout<["2", "4"], ["i"]>>
    pmap.yield %y : tensor<2x4xf32, #pmap.layout<["2", "4"], ["i"]>>
  }
  return %0 : tensor<8x2x4xf32>
}

// One table, indices of each row: one gather of all, whose rows come first by themselves.
// CHECK-LABEL: func.func @table
// CHECK-NEXT: %[[Y:.*]] = pmap.gather %{{.*}}, %{{.*}} dim 0 : tensor<5x2xf32>, tensor<8x3xi32> -> tensor<8x3x2xf32>
// CHECK-NEXT: return %[[Y]]
func.func @table(%t: tensor<5x2xf32>, %ids: tensor<8x3xi32>) -> tensor<8x3x2xf32> {
  %0 = pmap.vmap "i" size "8" (%ids) : (tensor<8x3xi32>) -> tensor<8x3x2xf32> {
  ^bb0(%row: tensor<3xi32, #pmap.layout<["3"], ["i"]>>):
    %wide = pmap.widen %t : tensor<5x2xf32> to tensor<5x2xf32, #pmap.layout<["5", "2"], ["i"]>>
    %y = pmap.gather %wide, %row dim 0
      : tensor<5x2xf32, #pmap.layout<["5", "2"], ["i"]>>, tensor<3xi32, #pmap.layout<["3"], ["i"]>> -> tensor<3x2xf32, #pmap.layout<["3", "2"], ["i"]>>
    pmap.yield %y : tensor<3x2xf32, #pmap.layout<["3", "2"], ["i"]>>
  }
  return %0 : tensor<8x3x2xf32>
}

// A sum over the rows' axis is a reduction; what it gives is the same for all rows.
// CHECK-LABEL: func.func @sum_of_rows
// CHECK-NEXT: %[[S:.*]] = pmap.reduce sum %{{.*}} dims [0]
// CHECK-NEXT: return %[[S]]
func.func @sum_of_rows(%x: tensor<8x3xf32>) -> tensor<3xf32> {
  %0 = pmap.vmap "i" size "8" (%x) : (tensor<8x3xf32>) -> tensor<3xf32> {
  ^bb0(%row: tensor<3xf32, #pmap.layout<["3"], ["i"]>>):
    %s = pmap.all_reduce sum (%row) over ["i"] : (tensor<3xf32, #pmap.layout<["3"], ["i"]>>) -> tensor<3xf32>
    pmap.yield %s : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// The mark of a `max` that needs elements stays.
// CHECK-LABEL: func.func @marked
// CHECK: pmap.reduce max %{{.*}} dims [1] {pmap.needs_elements}
func.func @marked(%x: tensor<8x3xf32>) -> tensor<8xf32> {
  %0 = pmap.vmap "i" size "8" (%x) : (tensor<8x3xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<3xf32, #pmap.layout<["3"], ["i"]>>):
    %s = pmap.reduce max %row dims [0] {pmap.needs_elements} : tensor<3xf32, #pmap.layout<["3"], ["i"]>> -> tensor<f32, #pmap.layout<[], ["i"]>>
    pmap.yield %s : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return %0 : tensor<8xf32>
}
