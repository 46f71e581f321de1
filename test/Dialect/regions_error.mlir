// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

func.func @for_each_1(%n: index) {
  // expected-error @+1 {{(for_each-1) expected 1 index arguments}}
  "pmap.for_each"(%n) ({
  ^bb0:
    pmap.yield
  }) : (index) -> ()
  return
}

// -----
func.func @for_each_2(%n: index, %x: tensor<f32>) {
  // expected-error @+1 {{(for_each-2) expected 1 yielded values, got 2}}
  %0 = pmap.for_each (%i) in (%n) {
    pmap.yield %x, %x : tensor<f32>, tensor<f32>
  } : tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// -----
func.func @for_each_3(%n: index, %x: tensor<3xf32>) {
  // expected-error @+1 {{(for_each-3) a body of type 'tensor<3xf32>' cannot give a result of type}}
  %0 = pmap.for_each (%i) in (%n) {
    pmap.yield %x : tensor<3xf32>
  } : tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// -----
func.func @grad_1(%x: tensor<f32>) {
  // expected-error @+1 {{(grad-1) the region's arguments must have the operands' types}}
  %0:2 = "pmap.grad"(%x) <{wrt = array<i64: 0>}> ({
  ^bb0(%a: tensor<f64>):
    pmap.yield %a : tensor<f64>
  }) : (tensor<f32>) -> (tensor<f64>, tensor<f32>)
  return
}

// -----
func.func @grad_2(%x: tensor<3xf32>) {
  // expected-error @+1 {{(grad-2) expected a floating scalar as the first yielded value (G1)}}
  %0:2 = pmap.grad (%x as %a : tensor<3xf32>) wrt [0] {
    pmap.yield %a : tensor<3xf32>
  } : tensor<3xf32>, tensor<3xf32>
  return
}

// -----
func.func @grad_3(%x: tensor<f32>, %k: tensor<i32>) {
  // expected-error @+1 {{(grad-3) wrt must name floating operands, each once}}
  %0:2 = pmap.grad (%x as %a : tensor<f32>, %k as %b : tensor<i32>) wrt [1] {
    pmap.yield %a : tensor<f32>
  } : tensor<f32>, tensor<i32>
  return
}

// -----
func.func @grad_4(%x: tensor<f32>) {
  // expected-error @+1 {{(grad-4) expected results of types}}
  %0 = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    pmap.yield %a : tensor<f32>
  } : tensor<f32>
  return
}

// -----
func.func @grad_5(%x: tensor<f32>, %y: tensor<f32, #pmap.layout<[], ["a"]>>) {
  // expected-error @+1 {{(grad-5) a value of type 'tensor<f32, #pmap.layout<[], ["a"]>>' needs wrt operands that vary as much (G1)}}
  %0:2 = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    pmap.yield %y : tensor<f32, #pmap.layout<[], ["a"]>>
  } : tensor<f32, #pmap.layout<[], ["a"]>>, tensor<f32>
  return
}
