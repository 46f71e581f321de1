// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

func.func @size_1() {
  // expected-error @+1 {{(size-1) "1+n" is not in normal form}}
  %0 = pmap.size "1+n"
  return
}

// -----
func.func @bind_size_1(%i: index) {
  // expected-error @+1 {{(bind_size-1) expected the name of a size, got "n+1"}}
  %0 = pmap.bind_size %i as "n+1"
  return
}

// -----
func.func @to_index_1(%x: tensor<f32>) {
  // expected-error @+1 {{(to_index-1) expected a scalar integer, got 'tensor<f32>'}}
  %0 = pmap.to_index %x : tensor<f32>
  return
}

// -----
func.func @from_index_1(%i: index) {
  // expected-error @+1 {{(from_index-1) expected a scalar integer or float, got 'tensor<2xf32>'}}
  %0 = pmap.from_index %i : tensor<2xf32>
  return
}

// -----
func.func @to_bool_1(%x: tensor<2xi1>) {
  // expected-error @+1 {{(to_bool-1) expected a scalar i1, got 'tensor<2xi1>'}}
  %0 = pmap.to_bool %x : tensor<2xi1>
  return
}

// -----
func.func @assert_1(%x: tensor<i32>) {
  // expected-error @+1 {{(assert-1) expected a scalar i1, got 'tensor<i32>'}}
  pmap.assert %x, "no" : tensor<i32>
  return
}

// -----
func.func @print_1(%x: tensor<i32>) {
  // expected-error @+1 {{(print-1) expected 1 holes and dtypes, got 2 and 1}}
  pmap.print "{} and {}" (%x) ["i32"] : tensor<i32>
  return
}
