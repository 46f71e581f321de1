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

// -----
!dist = !pmap.dist<tensor<4xf32, #pmap.layout<["4"], ["i"]>>, <[["a"]]>, <["a"], [2]>>
func.func @distributed_value_of_some_rows(%x: tensor<3x4xf32>, %k: tensor<3xi1>) {
  pmap.vmap "i" size "3"(%x, %k) : (tensor<3x4xf32>, tensor<3xi1>) -> () {
  ^bb0(%r: tensor<4xf32, #pmap.layout<["4"], ["i"]>>, %t: tensor<i1, #pmap.layout<[], ["i"]>>):
    %d = pmap.move %r : tensor<4xf32, #pmap.layout<["4"], ["i"]>> to !dist
    %c = pmap.to_bool %t : tensor<i1, #pmap.layout<[], ["i"]>>
    // expected-error @+1 {{a value that is computed for each row of a vmap apart, and leaves as one for all of them, is not built yet [E0901]}}
    %b = scf.if %c -> !dist {
      scf.yield %d : !dist
    } else {
      scf.yield %d : !dist
    }
    %s:2 = pmap.to_shards %b : (!dist) -> (tensor<2xf32, #pmap.layout<["2"], ["i"]>>, tensor<2xf32, #pmap.layout<["2"], ["i"]>>)
    pmap.print "{}" (%s#0) ["f32"] : tensor<2xf32, #pmap.layout<["2"], ["i"]>>
    pmap.yield
  }
  return
}
