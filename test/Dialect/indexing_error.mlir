// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

func.func @checked_index_1(%i: index) {
  // expected-error @+1 {{(checked_index-1) expected a dimension, got -1}}
  %0 = pmap.checked_index %i < %i dim -1
  return
}

// -----
func.func @extract_1(%x: tensor<3x4xf32>, %i: index) {
  // expected-error @+1 {{(extract-1) expected 2 indices, got 1}}
  %0 = pmap.extract %x[%i] : tensor<3x4xf32> -> tensor<f32>
  return
}

// -----
func.func @extract_2(%x: tensor<3xf32, #pmap.layout<["3"], ["a"]>>, %i: index) {
  // expected-error @+1 {{(extract-2) expected the result type 'tensor<f32, #pmap.layout<[], ["a"]>>', got 'tensor<f32>'}}
  %0 = pmap.extract %x[%i] : tensor<3xf32, #pmap.layout<["3"], ["a"]>> -> tensor<f32>
  return
}

// -----
func.func @slice_1(%x: tensor<3x4xf32>, %i: index) {
  // expected-error @+1 {{(slice-1) expected 2 offsets and strides, got 1 and 2}}
  %0 = pmap.slice %x[%i] strides [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  return
}

// -----
func.func @slice_2(%x: tensor<3xf32>, %i: index) {
  // expected-error @+1 {{(slice-2) strides must be at least 1, got [0]}}
  %0 = pmap.slice %x[%i] strides [0] : tensor<3xf32> -> tensor<1xf32>
  return
}

// -----
func.func @slice_3(%x: tensor<3xf32>, %i: index) {
  // expected-error @+1 {{(slice-3) ranks differ}}
  %0 = pmap.slice %x[%i] strides [1] : tensor<3xf32> -> tensor<f32>
  return
}

// -----
func.func @update_slice_1(%x: tensor<3xf32>, %u: tensor<1xf32>, %i: index) {
  // expected-error @+1 {{(update_slice-1) expected 1 offsets and strides, got 1 and 2}}
  %0 = pmap.update_slice %x[%i] strides [1, 1] = %u : tensor<3xf32>, tensor<1xf32> -> tensor<3xf32>
  return
}

// -----
func.func @update_slice_2(%x: tensor<3xf32>, %u: tensor<1xf32>, %i: index) {
  // expected-error @+1 {{(update_slice-2) strides must be at least 1}}
  %0 = pmap.update_slice %x[%i] strides [-1] = %u : tensor<3xf32>, tensor<1xf32> -> tensor<3xf32>
  return
}

// -----
func.func @update_slice_3(%x: tensor<3xf32>, %u: tensor<1xf64>, %i: index) {
  // expected-error @+1 {{(update_slice-3) element types differ}}
  %0 = pmap.update_slice %x[%i] strides [1] = %u : tensor<3xf32>, tensor<1xf64> -> tensor<3xf32>
  return
}

// -----
func.func @gather_1(%x: tensor<3xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{(gather-1) expected a dimension below 1, got 1}}
  %0 = pmap.gather %x, %i dim 1 : tensor<3xf32>, tensor<2xi32> -> tensor<2xf32>
  return
}

// -----
func.func @gather_2(%x: tensor<3xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{(gather-2) expected integer indices}}
  %0 = pmap.gather %x, %i dim 0 : tensor<3xf32>, tensor<2xf32> -> tensor<2xf32>
  return
}

// -----
func.func @gather_3(%x: tensor<3xf32>, %i: tensor<2xi32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(gather-3) variances differ (V2)}}
  %0 = pmap.gather %x, %i dim 0 : tensor<3xf32>, tensor<2xi32, #pmap.layout<["2"], ["a"]>> -> tensor<2xf32>
  return
}

// -----
func.func @gather_4(%x: tensor<3x5xf32>, %i: tensor<2x2xi32>) {
  // expected-error @+1 {{(gather-4) expected the result type 'tensor<2x2x5xf32>'}}
  %0 = pmap.gather %x, %i dim 0 : tensor<3x5xf32>, tensor<2x2xi32> -> tensor<2x5xf32>
  return
}

// -----
func.func @scatter_1(%x: tensor<3xf32>, %i: tensor<2xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{(scatter-1) expected sum, max, min, maxu or minu, got prod}}
  %0 = pmap.scatter prod %x, %i, %u dim 0 : tensor<3xf32>, tensor<2xi32>, tensor<2xf32> -> tensor<3xf32>
  return
}

// -----
func.func @scatter_2(%x: tensor<3xf32>, %i: tensor<2xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{(scatter-2) expected a dimension below 1, got 1}}
  %0 = pmap.scatter sum %x, %i, %u dim 1 : tensor<3xf32>, tensor<2xi32>, tensor<2xf32> -> tensor<3xf32>
  return
}

// -----
func.func @scatter_3(%x: tensor<3xf32>, %i: tensor<2xi1>, %u: tensor<2xf32>) {
  // expected-error @+1 {{(scatter-3) expected integer indices}}
  %0 = pmap.scatter sum %x, %i, %u dim 0 : tensor<3xf32>, tensor<2xi1>, tensor<2xf32> -> tensor<3xf32>
  return
}

// -----
func.func @scatter_4(%x: tensor<3xf32>, %i: tensor<2xi32, #pmap.layout<["2"], ["a"]>>, %u: tensor<2xf32>) {
  // expected-error @+1 {{(scatter-4) variances differ (V2)}}
  %0 = pmap.scatter sum %x, %i, %u dim 0
    : tensor<3xf32>, tensor<2xi32, #pmap.layout<["2"], ["a"]>>, tensor<2xf32> -> tensor<3xf32>
  return
}

// -----
func.func @scatter_5(%x: tensor<3x5xf32>, %i: tensor<2xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{(scatter-5) expected updates of type 'tensor<2x5xf32>'}}
  %0 = pmap.scatter sum %x, %i, %u dim 0 : tensor<3x5xf32>, tensor<2xi32>, tensor<2xf32> -> tensor<3x5xf32>
  return
}
