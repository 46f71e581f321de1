// RUN: %pmap-opt %s --split-input-file --verify-diagnostics
// The constraints of pmap.vmap, each by its number.

func.func @names_itself(%x: tensor<4xf32>) {
  // expected-error @+1 {{(vmap-1) expected a size that does not mention '@i', got "@i"}}
  %0 = pmap.vmap "i" size "@i"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    pmap.yield %r : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return
}

// -----
func.func @another_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{(vmap-1) expected a first dimension of size 3, got 'tensor<4xf32>'}}
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<4xf32>) -> tensor<3xf32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    pmap.yield %r : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return
}

// -----
func.func @scalar(%x: tensor<f32>) {
  // expected-error @+1 {{(vmap-1) expected a first dimension of size 3, got 'tensor<f32>'}}
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<f32>) -> tensor<3xf32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    pmap.yield %r : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return
}

// -----
func.func @argument_does_not_vary(%x: tensor<3xf32>) {
  // expected-error @+1 {{(vmap-2) expected an argument that varies over 'i', got 'tensor<f32>'}}
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<3xf32>) -> tensor<f32> {
  ^bb0(%r: tensor<f32>):
    pmap.yield %r : tensor<f32>
  }
  return
}

// -----
func.func @argument_of_another_shape(%x: tensor<3x5xf32>) {
  // expected-error @+1 {{(vmap-2) expected operands of types}}
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<3x5xf32>) -> tensor<3xf32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    pmap.yield %r : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return
}

// -----
func.func @result(%x: tensor<3xf32>) {
  // expected-error @+1 {{(vmap-3) expected results of types}}
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<3xf32>) -> tensor<f32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    pmap.yield %r : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return
}

// -----
func.func @result_mentions_the_axis(%x: tensor<3xf32>) {
  // expected-error @+1 {{(vmap-3) expected results of types}}
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<3xf32>) -> tensor<?xf32, #pmap.layout<["@i"], []>> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    %g = pmap.all_gather %r over ["i"] dim 0 : tensor<f32, #pmap.layout<[], ["i"]>> -> tensor<?xf32, #pmap.layout<["@i"], []>>
    pmap.yield %g : tensor<?xf32, #pmap.layout<["@i"], []>>
  }
  return
}

// -----
func.func @axis_twice(%x: tensor<3xf32>, %y: tensor<2xf32>) {
  %0 = pmap.vmap "i" size "3"(%x) : (tensor<3xf32>) -> tensor<2xf32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    // expected-error @+1 {{(vmap-4) 'i' is already an axis here}}
    %1 = pmap.vmap "i" size "2"(%y) : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%e: tensor<f32, #pmap.layout<[], ["i"]>>):
      pmap.yield %e : tensor<f32, #pmap.layout<[], ["i"]>>
    }
    pmap.yield %1 : tensor<2xf32>
  }
  return
}

// -----
func.func @chunk(%x: tensor<3xf32>) {
  // expected-error @+1 {{(vmap-5) expected a chunk of at least 1, got 0}}
  %0 = pmap.vmap "i" size "3" chunk 0(%x) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%r: tensor<f32, #pmap.layout<[], ["i"]>>):
    pmap.yield %r : tensor<f32, #pmap.layout<[], ["i"]>>
  }
  return
}
