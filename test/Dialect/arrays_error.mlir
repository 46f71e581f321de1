// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(broadcast-1) expected 1 entries in dims, got 0}}
  %0 = pmap.broadcast %x dims [] : tensor<3xf32> -> tensor<3x3xf32>
  return
}

// -----
func.func @broadcast_2(%x: tensor<3x3xf32>) {
  // expected-error @+1 {{(broadcast-2) expected sorted, distinct dimensions below 2}}
  %0 = pmap.broadcast %x dims [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  return
}

// -----
func.func @broadcast_3(%x: tensor<?xf32, #pmap.layout<["n"], []>>) {
  // expected-error @+1 {{(broadcast-3) dimension 0 of size n cannot become one of size m}}
  %0 = pmap.broadcast %x dims [0] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<?xf32, #pmap.layout<["m"], []>>
  return
}

// -----
func.func @broadcast_4(%x: tensor<f32>) {
  // expected-error @+1 {{(broadcast-4) variances differ (V2)}}
  %0 = pmap.broadcast %x dims [] : tensor<f32> -> tensor<2xf32, #pmap.layout<["2"], ["a"]>>
  return
}

// -----
func.func @reduce_1(%x: tensor<3x3xf32>) {
  // expected-error @+1 {{(reduce-1) expected sorted, distinct dimensions below 2, got [2]}}
  %0 = pmap.reduce sum %x dims [2] : tensor<3x3xf32> -> tensor<3xf32>
  return
}

// -----
func.func @reduce_2(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(reduce-2) expected the result type 'tensor<4xf32>', got 'tensor<3xf32>'}}
  %0 = pmap.reduce sum %x dims [0] : tensor<3x4xf32> -> tensor<3xf32>
  return
}

// -----
func.func @reduce_3_mean(%x: tensor<3xf32>) {
  // expected-error @+1 {{(reduce-3) kind mean does not suit}}
  %0 = pmap.reduce mean %x dims [0] : tensor<3xf32> -> tensor<f32>
  return
}

// -----
func.func @reduce_3_and(%x: tensor<3xf32>) {
  // expected-error @+1 {{(reduce-3) kind and does not suit}}
  %0 = pmap.reduce and %x dims [0] : tensor<3xf32> -> tensor<f32>
  return
}

// -----
func.func @arg_reduce_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(arg_reduce-1) expected max, min, maxu or minu, got sum}}
  %0 = pmap.arg_reduce sum %x dim 0 : tensor<3xf32> -> tensor<i32>
  return
}

// -----
func.func @arg_reduce_2(%x: tensor<3xf32>) {
  // expected-error @+1 {{(arg_reduce-2) expected a dimension below 1, got 1}}
  %0 = pmap.arg_reduce max %x dim 1 : tensor<3xf32> -> tensor<i32>
  return
}

// -----
func.func @arg_reduce_3(%x: tensor<3xf32>) {
  // expected-error @+1 {{(arg_reduce-3) expected the result type 'tensor<i32>'}}
  %0 = pmap.arg_reduce max %x dim 0 : tensor<3xf32> -> tensor<i64>
  return
}

// -----
func.func @scan_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(scan-1) expected sum or prod, got max}}
  %0 = pmap.scan max %x dim 0 : tensor<3xf32>
  return
}

// -----
func.func @scan_2(%x: tensor<3xf32>) {
  // expected-error @+1 {{(scan-2) expected a dimension below 1, got 1}}
  %0 = pmap.scan sum %x dim 1 : tensor<3xf32>
  return
}

// -----
func.func @dot_1(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{(dot-1) both sides need as many batch and as many contracted dimensions}}
  %0 = pmap.dot %x, %y batch [] x [] contract [1] x [] : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  return
}

// -----
func.func @dot_2(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{(dot-2) expected sorted, distinct dimensions below 2}}
  %0 = pmap.dot %x, %y batch [1] x [0] contract [1] x [0] : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  return
}

// -----
func.func @dot_3(%x: tensor<3x4xf32>, %y: tensor<6x5xf32>) {
  // expected-error @+1 {{(dot-3) paired dimensions have sizes 4 and 6}}
  %0 = pmap.dot %x, %y batch [] x [] contract [1] x [0] : tensor<3x4xf32>, tensor<6x5xf32> -> tensor<3x5xf32>
  return
}

// -----
func.func @dot_4(%x: tensor<3x4xf32>, %y: tensor<4x5xf64>) {
  // expected-error @+1 {{(dot-4) element types differ}}
  %0 = pmap.dot %x, %y batch [] x [] contract [1] x [0] : tensor<3x4xf32>, tensor<4x5xf64> -> tensor<3x5xf32>
  return
}

// -----
func.func @dot_5(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{(dot-5) expected the result type 'tensor<3x5xf32>'}}
  %0 = pmap.dot %x, %y batch [] x [] contract [1] x [0] : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<5x3xf32>
  return
}

// -----
func.func @transpose_1(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(transpose-1) expected a permutation of 2 dimensions, got [0, 0]}}
  %0 = pmap.transpose %x perm [0, 0] : tensor<3x4xf32> -> tensor<3x3xf32>
  return
}

// -----
func.func @transpose_2(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(transpose-2) expected the result type 'tensor<4x3xf32>'}}
  %0 = pmap.transpose %x perm [1, 0] : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----
func.func @reshape_1(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(reshape-1) element types differ}}
  %0 = pmap.reshape %x : tensor<3x4xf32> -> tensor<12xi32>
  return
}

// -----
func.func @reshape_2(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{(reshape-2) 12 elements cannot become 13}}
  %0 = pmap.reshape %x : tensor<3x4xf32> -> tensor<13xf32>
  return
}

// -----
func.func @concat_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(concat-1) expected a dimension below 1, got 1}}
  %0 = pmap.concat %x, %x dim 1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  return
}

// -----
func.func @concat_2(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error @+1 {{(concat-2) shapes differ off dimension 0}}
  %0 = pmap.concat %x, %y dim 0 : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<6x4xf32>
  return
}

// -----
func.func @concat_3(%x: tensor<?xf32, #pmap.layout<["n"], []>>) {
  // expected-error @+1 {{(concat-3) expected the result type 'tensor<?xf32, #pmap.layout<["2*n"], []>>'}}
  %0 = pmap.concat %x, %x dim 0 : (tensor<?xf32, #pmap.layout<["n"], []>>, tensor<?xf32, #pmap.layout<["n"], []>>)
    -> tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// -----
func.func @reverse_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(reverse-1) expected sorted, distinct dimensions below 1}}
  %0 = pmap.reverse %x dims [1] : tensor<3xf32>
  return
}

// -----
func.func @rotate_1(%x: tensor<3xf32>, %i: index) {
  // expected-error @+1 {{(rotate-1) expected a dimension below 1, got 1}}
  %0 = pmap.rotate %x by %i dim 1 : tensor<3xf32>
  return
}

// -----
func.func @iota_1() {
  // expected-error @+1 {{(iota-1) expected a dimension below 1, got 1}}
  %0 = pmap.iota dim 1 : tensor<3xi32>
  return
}

// -----
func.func @iota_2() {
  // expected-error @+1 {{(iota-2) expected integers or floats, got 'i1'}}
  %0 = pmap.iota dim 0 : tensor<3xi1>
  return
}

// -----
func.func @pad_1(%x: tensor<3xf32>, %zero: tensor<f32>) {
  // expected-error @+1 {{(pad-1) size "1+n" is not in normal form}}
  %0 = pmap.pad %x with %zero low ["1+n"] high ["0"] : tensor<3xf32>, tensor<f32> -> tensor<?xf32, #pmap.layout<["n+4"], []>>
  return
}

// -----
func.func @pad_2(%x: tensor<3xf32>, %zero: tensor<f32>) {
  // expected-error @+1 {{(pad-2) expected the result type 'tensor<5xf32>'}}
  %0 = pmap.pad %x with %zero low ["1"] high ["1"] : tensor<3xf32>, tensor<f32> -> tensor<4xf32>
  return
}

// -----
func.func @pad_3(%x: tensor<3xf32>, %zero: tensor<i32>) {
  // expected-error @+1 {{(pad-3) expected the result type 'tensor<f32>', got 'tensor<i32>'}}
  %0 = pmap.pad %x with %zero low ["1"] high ["1"] : tensor<3xf32>, tensor<i32> -> tensor<5xf32>
  return
}

// -----
func.func @sort_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(sort-1) expected a dimension below 1, got 1}}
  %0 = pmap.sort %x dim 1 : tensor<3xf32>
  return
}

// -----
func.func @argsort_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(argsort-1) expected a dimension below 1, got 1}}
  %0 = pmap.argsort %x dim 1 : tensor<3xf32> -> tensor<3xi32>
  return
}

// -----
func.func @argsort_2(%x: tensor<3xf32>) {
  // expected-error @+1 {{(argsort-2) expected the result type 'tensor<3xi32>'}}
  %0 = pmap.argsort %x dim 0 : tensor<3xf32> -> tensor<3xi64>
  return
}

// -----
func.func @cast_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(cast-1) ranks differ}}
  %0 = pmap.cast %x : tensor<3xf32> -> tensor<1x3xf32>
  return
}

// -----
func.func @cast_2(%x: tensor<3xf32>) {
  // expected-error @+1 {{(cast-2) dimension 0 cannot go from 3 to 4}}
  %0 = pmap.cast %x : tensor<3xf32> -> tensor<4xf32>
  return
}

// -----
// The sizes and V in the encoding are part of the type: arith itself rejects what the language forbids.
func.func @sizes_meet(%x: tensor<?xf32, #pmap.layout<["n"], []>>, %y: tensor<?xf32, #pmap.layout<["m"], []>>) {
  // expected-note @-1 {{prior use here}}
  // expected-error @+1 {{use of value '%y' expects different type than prior uses}}
  %0 = arith.addf %x, %y : tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// -----
func.func @unknown_size(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor whose sizes are known, but got 'tensor<?xf32>'}}
  %0 = pmap.reverse %x dims [0] : tensor<?xf32>
  return
}
