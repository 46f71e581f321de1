// RUN: %pmap-opt %s --split-input-file --verify-diagnostics
// Every numbered constraint of the collectives that move arrays.

func.func @all_gather_4(%x: tensor<2xf32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(all_gather-4) expected axes, each once, got ["a", "a"]}}
  %0 = pmap.all_gather %x over ["a", "a"] dim 0 tiled
    : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> tensor<?xf32, #pmap.layout<["2*@a*@a"], []>>
  return
}

// -----
func.func @all_gather_5(%x: tensor<2xf32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(all_gather-5) groups of one size partition the positions along the axes (C3)}}
  %0 = pmap.all_gather %x over ["a"] dim 0 tiled groups [array<i64: 0>, array<i64: 1, 2>]
    : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> tensor<2xf32, #pmap.layout<["2"], ["a"]>>
  return
}

// -----
// With groups the result varies, and its size is that of a group (V3).
func.func @all_gather_3_groups(%x: tensor<2xf32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(all_gather-3) expected the result type 'tensor<4xf32, #pmap.layout<["4"], ["a"]>>', got 'tensor<4xf32>'}}
  %0 = pmap.all_gather %x over ["a"] dim 0 tiled groups [array<i64: 0, 2>, array<i64: 1, 3>]
    : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> tensor<4xf32>
  return
}

// -----
func.func @reduce_scatter_1(%x: tensor<4xf32>) {
  // expected-error @+1 {{(reduce_scatter-1) expected axes, each once, got []}}
  %0 = pmap.reduce_scatter %x over [] dim 0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----
func.func @reduce_scatter_2(%x: tensor<4xf32>) {
  // expected-error @+1 {{(reduce_scatter-2) expected a dimension below 1, got 1}}
  %0 = pmap.reduce_scatter %x over ["a"] dim 1 : tensor<4xf32> -> tensor<4xf32, #pmap.layout<["4"], ["a"]>>
  return
}

// -----
func.func @reduce_scatter_3(%x: tensor<?xf32, #pmap.layout<["n"], ["a"]>>) {
  // expected-error @+1 {{(reduce_scatter-3) expected the result type 'tensor<?xf32, #pmap.layout<["n"], ["a"]>>', got 'tensor<?xf32, #pmap.layout<["@a*n"], ["a"]>>'}}
  %0 = pmap.reduce_scatter %x over ["a"] dim 0
    : tensor<?xf32, #pmap.layout<["n"], ["a"]>> -> tensor<?xf32, #pmap.layout<["n"], ["a"]>>
  return
}

// -----
func.func @reduce_scatter_4(%x: tensor<4xf32, #pmap.layout<["4"], ["a"]>>) {
  // expected-error @+1 {{(reduce_scatter-4) expected V of the operand plus the axes (V4)}}
  %0 = pmap.reduce_scatter %x over ["a"] dim 0 groups [array<i64: 0, 1>]
    : tensor<4xf32, #pmap.layout<["4"], ["a"]>> -> tensor<2xf32>
  return
}

// -----
func.func @reduce_scatter_5(%x: tensor<4xf32, #pmap.layout<["4"], ["a"]>>) {
  // expected-error @+1 {{(reduce_scatter-5) groups of one size partition the positions along the axes (C3)}}
  %0 = pmap.reduce_scatter %x over ["a"] dim 0 groups [array<i64: 0, 1>, array<i64: 1, 2>]
    : tensor<4xf32, #pmap.layout<["4"], ["a"]>> -> tensor<2xf32, #pmap.layout<["2"], ["a"]>>
  return
}

// -----
func.func @reduce_scatter_6(%x: tensor<4xi1, #pmap.layout<["4"], ["a"]>>) {
  // expected-error @+1 {{(reduce_scatter-6) i1 is converted to i32 first (C2)}}
  %0 = pmap.reduce_scatter %x over ["a"] dim 0 groups [array<i64: 0, 1>]
    : tensor<4xi1, #pmap.layout<["4"], ["a"]>> -> tensor<2xi1, #pmap.layout<["2"], ["a"]>>
  return
}

// -----
func.func @all_to_all_1(%x: tensor<4xf32>) {
  // expected-error @+1 {{(all_to_all-1) expected axes, each once, got ["a", "b", "a"]}}
  %0 = pmap.all_to_all %x over ["a", "b", "a"] split 0 concat 0 : tensor<4xf32> -> tensor<4xf32, #pmap.layout<["4"], ["a", "b"]>>
  return
}

// -----
func.func @all_to_all_2(%x: tensor<4xf32>) {
  // expected-error @+1 {{(all_to_all-2) expected a dimension below 1, got 1}}
  %0 = pmap.all_to_all %x over ["a"] split 0 concat 1 : tensor<4xf32> -> tensor<4xf32, #pmap.layout<["4"], ["a"]>>
  return
}

// -----
func.func @all_to_all_3(%x: tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>>) {
  // expected-error @+1 {{(all_to_all-3) expected the result type}}
  %0 = pmap.all_to_all %x over ["a"] split 0 concat 1
    : tensor<?x3xf32, #pmap.layout<["@a*n", "3"], ["a"]>> -> tensor<?x3xf32, #pmap.layout<["n", "3"], ["a"]>>
  return
}

// -----
func.func @all_to_all_4(%x: tensor<4xf32>) {
  // expected-error @+1 {{(all_to_all-4) expected V of the operand plus the axes (V4)}}
  %0 = pmap.all_to_all %x over ["a"] split 0 concat 0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----
func.func @all_to_all_5(%x: tensor<4xf32>) {
  // expected-error @+1 {{(all_to_all-5) groups of one size partition the positions along the axes (C3)}}
  %0 = pmap.all_to_all %x over ["a", "b"] split 0 concat 0 groups [array<i64: 0, 1>, array<i64: 1, 2>]
    : tensor<4xf32> -> tensor<4xf32, #pmap.layout<["4"], ["a", "b"]>>
  return
}

// -----
func.func @permute_1(%x: tensor<f32>, %to: tensor<2xi32>, %zero: tensor<f32>) {
  // expected-error @+1 {{(permute-1) expected axes, each once, got []}}
  %0 = pmap.permute %x to %to fill %zero over [] : tensor<f32>, tensor<2xi32>, tensor<f32> -> tensor<f32>
  return
}

// -----
func.func @permute_2(%x: tensor<f32>, %to: tensor<?xi32, #pmap.layout<["n"], []>>, %zero: tensor<f32>) {
  // expected-error @+1 {{(permute-2) expected one i32 for each device, the same on all}}
  %0 = pmap.permute %x to %to fill %zero over ["a"]
    : tensor<f32>, tensor<?xi32, #pmap.layout<["n"], []>>, tensor<f32> -> tensor<f32, #pmap.layout<[], ["a"]>>
  return
}

// -----
func.func @permute_2_varies(%x: tensor<f32>, %to: tensor<2xi32, #pmap.layout<["2"], ["a"]>>, %zero: tensor<f32>) {
  // expected-error @+1 {{(permute-2) expected one i32 for each device, the same on all}}
  %0 = pmap.permute %x to %to fill %zero over ["a"]
    : tensor<f32>, tensor<2xi32, #pmap.layout<["2"], ["a"]>>, tensor<f32> -> tensor<f32, #pmap.layout<[], ["a"]>>
  return
}

// -----
func.func @permute_3(%x: tensor<f32>, %to: tensor<2xi32>, %zero: tensor<f64>) {
  // expected-error @+1 {{(permute-3) expected a scalar of 'f32', got 'tensor<f64>'}}
  %0 = pmap.permute %x to %to fill %zero over ["a"]
    : tensor<f32>, tensor<2xi32>, tensor<f64> -> tensor<f32, #pmap.layout<[], ["a"]>>
  return
}

// -----
// The V of the table and of the value that fills count too (V4).
func.func @permute_4(%x: tensor<f32>, %to: tensor<2xi32>, %fill: tensor<f32, #pmap.layout<[], ["b"]>>) {
  // expected-error @+1 {{(permute-4) expected the result type 'tensor<f32, #pmap.layout<[], ["a", "b"]>>'}}
  %0 = pmap.permute %x to %to fill %fill over ["a"]
    : tensor<f32>, tensor<2xi32>, tensor<f32, #pmap.layout<[], ["b"]>> -> tensor<f32, #pmap.layout<[], ["a"]>>
  return
}
