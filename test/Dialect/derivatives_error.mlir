// The verifiers of vjp, pullback, jvp, checkpoint and custom_vjp.
// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

func.func @vjp_1(%x: tensor<f32>) {
  // expected-error @+1 {{(vjp-1) expected arguments of types ('tensor<f32>'), got ('tensor<f64>')}}
  %0:2 = pmap.vjp wrt [0](%x) : (tensor<f32>) -> (tensor<f64>, !pmap.residuals) {
  ^bb0(%a: tensor<f64>):
    pmap.yield %a : tensor<f64>
  }
  return
}

// -----
func.func @vjp_2(%x: tensor<f32>) {
  // expected-error @+1 {{(vjp-2) wrt must name floating operands, each once; got [0, 0]}}
  %0:2 = pmap.vjp wrt [0, 0](%x) : (tensor<f32>) -> (tensor<f32>, !pmap.residuals) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  return
}

// -----
func.func @vjp_3(%x: tensor<f32>) {
  // expected-error @+1 {{(vjp-3) expected results of types ('tensor<f32>', '!pmap.residuals'), got ('tensor<f32>')}}
  %0 = pmap.vjp wrt [0](%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  return
}

// -----
func.func @vjp_4(%x: tensor<f32>, %y: tensor<f32, #pmap.layout<[], ["a"]>>) {
  // expected-error @+1 {{(vjp-4) a result of type 'tensor<f32, #pmap.layout<[], ["a"]>>' needs wrt operands that vary as much (G1), got 'tensor<f32>'}}
  %0:2 = pmap.vjp wrt [0](%x) : (tensor<f32>) -> (tensor<f32, #pmap.layout<[], ["a"]>>, !pmap.residuals) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %y : tensor<f32, #pmap.layout<[], ["a"]>>
  }
  return
}

// -----
func.func @pullback_1(%r: !pmap.residuals, %ct: tensor<f32>) {
  // expected-error @+1 {{(pullback-1) expected the residuals of a pmap.vjp}}
  %0 = pmap.pullback %r(%ct) : (tensor<f32>) -> tensor<f32>
  return
}

// -----
func.func @pullback_2_count(%x: tensor<f32>) {
  %0:2 = pmap.vjp wrt [0](%x) : (tensor<f32>) -> (tensor<f32>, !pmap.residuals) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  // expected-error @+1 {{(pullback-2) expected 1 cotangents, got 2}}
  %1 = pmap.pullback %0#1(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----
func.func @pullback_2_type(%x: tensor<f32>, %ct: tensor<3xf32>) {
  %0:2 = pmap.vjp wrt [0](%x) : (tensor<f32>) -> (tensor<f32>, !pmap.residuals) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  // expected-error @+1 {{(pullback-2) expected a cotangent of type 'tensor<f32>', got 'tensor<3xf32>'}}
  %1 = pmap.pullback %0#1(%ct) : (tensor<3xf32>) -> tensor<f32>
  return
}

// -----
func.func @pullback_3(%x: tensor<f32>, %ct: tensor<f32, #pmap.layout<[], ["i"]>>) {
  %0:2 = pmap.vjp wrt [0](%x) : (tensor<f32>) -> (tensor<f32>, !pmap.residuals) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  // expected-error @+1 {{(pullback-3) expected results of types ('tensor<f32, #pmap.layout<[], ["i"]>>'), got ('tensor<f32>')}}
  %1 = pmap.pullback %0#1(%ct) : (tensor<f32, #pmap.layout<[], ["i"]>>) -> tensor<f32>
  return
}

// -----
func.func @jvp_1(%x: tensor<f32>) {
  // expected-error @+1 {{(jvp-1) expected arguments of types ('tensor<f32>'), got ('tensor<f64>')}}
  %0:2 = pmap.jvp wrt [0](%x) along(%x) : (tensor<f32>, tensor<f32>) -> (tensor<f64>, tensor<f64>) {
  ^bb0(%a: tensor<f64>):
    pmap.yield %a : tensor<f64>
  }
  return
}

// -----
func.func @jvp_2_wrt(%x: tensor<f32>, %k: tensor<i32>) {
  // expected-error @+1 {{(jvp-2) wrt must name floating operands, each once; got [1]}}
  %0:2 = pmap.jvp wrt [1](%x, %k) along(%x) : (tensor<f32>, tensor<i32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<i32>):
    pmap.yield %a : tensor<f32>
  }
  return
}

// -----
func.func @jvp_2_count(%x: tensor<f32>) {
  // expected-error @+1 {{(jvp-2) expected 1 tangents, got 0}}
  %0:2 = pmap.jvp wrt [0](%x) along() : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  return
}

// -----
func.func @jvp_2_type(%x: tensor<f32, #pmap.layout<[], ["a"]>>, %dx: tensor<f32>) {
  // expected-error @+1 {{(jvp-2) expected a tangent of type 'tensor<f32, #pmap.layout<[], ["a"]>>', got 'tensor<f32>'}}
  %0:2 = pmap.jvp wrt [0](%x) along(%dx) : (tensor<f32, #pmap.layout<[], ["a"]>>, tensor<f32>)
      -> (tensor<f32, #pmap.layout<[], ["a"]>>, tensor<f32, #pmap.layout<[], ["a"]>>) {
  ^bb0(%a: tensor<f32, #pmap.layout<[], ["a"]>>):
    pmap.yield %a : tensor<f32, #pmap.layout<[], ["a"]>>
  }
  return
}

// -----
func.func @jvp_3(%x: tensor<f32>, %dx: tensor<f32, #pmap.layout<[], ["i"]>>) {
  // expected-error @+1 {{(jvp-3) expected results of types ('tensor<f32>', 'tensor<f32, #pmap.layout<[], ["i"]>>'), got ('tensor<f32>', 'tensor<f32>')}}
  %0:2 = pmap.jvp wrt [0](%x) along(%dx) : (tensor<f32>, tensor<f32, #pmap.layout<[], ["i"]>>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  }
  return
}

// -----
func.func @checkpoint_1(%x: tensor<f32>) {
  // expected-error @+1 {{(checkpoint-1) expected results of types ('tensor<f32>'), got ('tensor<f64>')}}
  %0 = pmap.checkpoint : () -> tensor<f64> {
    pmap.yield %x : tensor<f32>
  }
  return
}

// -----
func.func @custom_vjp_1(%x: tensor<f32>) {
  // expected-error @+1 {{(custom_vjp-1) expected arguments of types ('tensor<f32>'), got ('tensor<f64>')}}
  %0 = pmap.custom_vjp(%x) : (tensor<f32>) -> tensor<f64> {
  ^bb0(%a: tensor<f64>):
    pmap.yield %a : tensor<f64>
  } forward {
  ^bb0(%a: tensor<f64>):
    pmap.yield %a : tensor<f64>
  } backward {
  ^bb0(%ct: tensor<f64>):
    pmap.yield %ct : tensor<f64>
  }
  return
}

// -----
func.func @custom_vjp_2(%x: tensor<f32>, %y: tensor<f64>) {
  // expected-error @+1 {{(custom_vjp-2) expected results of 'forward' of types ('tensor<f32>'), got ('tensor<f64>')}}
  %0 = pmap.custom_vjp(%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  } forward {
  ^bb0(%a: tensor<f32>):
    pmap.yield %y : tensor<f64>
  } backward {
  ^bb0(%ct: tensor<f32>):
    pmap.yield %ct : tensor<f32>
  }
  return
}

// -----
func.func @custom_vjp_3(%x: tensor<f32>) {
  // expected-error @+1 {{(custom_vjp-3) expected arguments of 'backward' of types ('tensor<f32>', 'tensor<f32>'), got ('tensor<f32>')}}
  %0 = pmap.custom_vjp(%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  } forward {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a, %a : tensor<f32>, tensor<f32>
  } backward {
  ^bb0(%ct: tensor<f32>):
    pmap.yield %ct : tensor<f32>
  }
  return
}

// -----
func.func @custom_vjp_4(%x: tensor<f32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{(custom_vjp-4) expected cotangents of types ('tensor<f32>'), got ('tensor<3xf32>')}}
  %0 = pmap.custom_vjp(%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  } forward {
  ^bb0(%a: tensor<f32>):
    pmap.yield %a : tensor<f32>
  } backward {
  ^bb0(%ct: tensor<f32>):
    pmap.yield %y : tensor<3xf32>
  }
  return
}
