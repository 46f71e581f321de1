// RUN: %pmap-opt %s --pmap-transform --split-input-file --verify-diagnostics

func.func @while(%x: tensor<f32>) -> tensor<f32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-note @+1 {{the derivative is taken here}}
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    // expected-error @+1 {{the gradient of a 'while' needs its number of steps in advance; write a 'for' with a bound and an 'if' for the condition inside it [E0811]}}
    %0 = scf.while (%y = %a) : (tensor<f32>) -> tensor<f32> {
      %c = arith.cmpf olt, %y, %one : tensor<f32>
      %b = pmap.to_bool %c : tensor<i1>
      scf.condition(%b) %y : tensor<f32>
    } do {
    ^bb0(%y: tensor<f32>):
      %1 = arith.addf %y, %y : tensor<f32>
      scf.yield %1 : tensor<f32>
    }
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// -----
func.func @unknown(%x: tensor<f32>) -> tensor<f32> {
  // expected-note @+1 {{the derivative is taken here}}
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    // expected-error @+1 {{no derivative is known for 'cast'; stop_gradient(...) takes its value as a constant [E0810]}}
    %0 = tensor.cast %a : tensor<f32> to tensor<f32>
    pmap.yield %0 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// -----
// A while that no gradient goes through is none of the derivative's business.
func.func @while_of_constants(%x: tensor<f32>) -> tensor<f32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %v, %g = pmap.grad (%x as %a : tensor<f32>) wrt [0] {
    %0 = scf.while (%y = %one) : (tensor<f32>) -> tensor<f32> {
      %c = arith.cmpf olt, %y, %one : tensor<f32>
      %b = pmap.to_bool %c : tensor<i1>
      scf.condition(%b) %y : tensor<f32>
    } do {
    ^bb0(%y: tensor<f32>):
      %1 = arith.addf %y, %y : tensor<f32>
      scf.yield %1 : tensor<f32>
    }
    %2 = arith.mulf %0, %a : tensor<f32>
    pmap.yield %2 : tensor<f32>
  } : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}
