// RUN: %pmap-opt %s --split-input-file --pmap-transform --verify-diagnostics
// What a derivative may leave behind is checked again (V6), and what no loop over the rows can carry is said.

!one = tensor<f32, #pmap.layout<[], ["i"]>>
func.func @collective_of_some_rows(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pmap.vmap "i" size "4"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%r: !one):
    %zero = arith.constant dense<0.0> : !one
    %t = arith.cmpf ogt, %r, %zero : !one
    %c = pmap.to_bool %t : tensor<i1, #pmap.layout<[], ["i"]>>
    %b = scf.if %c -> !one {
      // expected-error @+1 {{a collective over the rows of a vmap where rows may disagree whether to run it: all of them must reach a collective (V6) [E0706]}}
      %s = pmap.all_reduce sum(%r) over ["i"] : (!one) -> tensor<f32>
      %w = pmap.widen %s : tensor<f32> to !one
      scf.yield %w : !one
    } else {
      scf.yield %r : !one
    }
    pmap.yield %b : !one
  }
  return %0 : tensor<4xf32>
}
