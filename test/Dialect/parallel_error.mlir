// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
func.func @map_1(%n: index) {
  // expected-error @+1 {{(map-1) expected 1 size arguments, got 0}}
  pmap.map #pmap.mesh<["a"], [2]> sizes (%n) [] () : () -> () {
  ^bb0(%k: index):
    pmap.yield
  }
  return
}

// -----
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
func.func @map_2(%x: !whole) {
  // expected-error @+1 {{(map-2) inputs and results must be over the mesh}}
  pmap.map #pmap.mesh<["a"], [4]> sizes () [] (%x) : (!whole) -> () {
  ^bb0(%b: tensor<2xf32, #pmap.layout<["2"], ["a"]>>):
    pmap.yield
  }
  return
}

// -----
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
func.func @map_3(%x: !whole) {
  // expected-error @+1 {{(map-3) 'tensor<2xf32>' is not a block of}}
  pmap.map #pmap.mesh<["a"], [2]> sizes () [] (%x) : (!whole) -> () {
  ^bb0(%b: tensor<2xf32>):
    pmap.yield
  }
  return
}

// -----
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
func.func @map_4(%x: !whole) {
  // expected-error @+1 {{(map-4) expected 1 yielded values, got 0}}
  %0 = pmap.map #pmap.mesh<["a"], [2]> sizes () [] (%x) : (!whole) -> (!whole) {
  ^bb0(%b: tensor<2xf32, #pmap.layout<["2"], ["a"]>>):
    pmap.yield
  }
  return
}

// -----
// F1: the identity of a split array with `out: _`.
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
!copy = !pmap.dist<tensor<2xf32>, #pmap.spec<[[]]>, #pmap.mesh<["a"], [2]>>
func.func @map_5(%x: !whole) {
  // expected-error @+1 {{(map-5) a block that varies more than #pmap.spec<[[]]> splits (V7)}}
  %0 = pmap.map #pmap.mesh<["a"], [2]> sizes () [] (%x) : (!whole) -> (!copy) {
  ^bb0(%b: tensor<2xf32, #pmap.layout<["2"], ["a"]>>):
    pmap.yield %b : tensor<2xf32, #pmap.layout<["2"], ["a"]>>
  }
  return
}

// -----
func.func @map_6() {
  pmap.map #pmap.mesh<["a"], [2]> sizes () [] () : () -> () {
    // expected-error @+1 {{(map-6) a map within a map (P1)}}
    pmap.map #pmap.mesh<["b"], [2]> sizes () [] () : () -> () {
      pmap.yield
    }
    pmap.yield
  }
  return
}

// -----
func.func @map_7(%n: index) {
  // expected-error @+1 {{(map-7) axis "b" is not of the mesh}}
  pmap.map #pmap.mesh<["a"], [2]> sizes (%n) [#pmap.size_arg<"k", ["b"], "x">] () : () -> () {
  ^bb0(%k: index):
    pmap.yield
  }
  return
}

// -----
func.func @move_1(%x: tensor<4xf32>) {
  // expected-error @+1 {{(move-1) expected a distributed value on one side}}
  %0 = pmap.move %x : tensor<4xf32> to tensor<4xf32>
  return
}

// -----
func.func @move_2(%x: tensor<3xf32>) {
  // expected-error @+1 {{(move-2)}}
  %0 = pmap.move %x : tensor<3xf32> to !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
  return
}

// -----
func.func @shards_1(%x: tensor<2xf32>) {
  // expected-error @+1 {{(shards-1) expected blocks of one dimension split over one axis}}
  %0 = pmap.shards %x, %x : (tensor<2xf32>, tensor<2xf32>) -> !pmap.dist<tensor<4xf32>, #pmap.spec<[[]]>, #pmap.mesh<["a"], [2]>>
  return
}

// -----
func.func @shards_2(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{(shards-2) 'tensor<2x4xf32>' is not a block of}}
  %0 = pmap.shards %x, %y : (tensor<2x3xf32>, tensor<2x4xf32>)
    -> !pmap.dist<tensor<4x3xf32>, #pmap.spec<[["a"], []]>, #pmap.mesh<["a"], [2]>>
  return
}

// -----
!copy = !pmap.dist<tensor<4xf32>, #pmap.spec<[[]]>, #pmap.mesh<["a"], [2]>>
func.func @to_shards_1(%x: !copy) {
  // expected-error @+1 {{(to_shards-1) expected one dimension split over one axis}}
  %0:2 = pmap.to_shards %x : (!copy) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>
func.func @to_shards_2(%x: !whole) {
  // expected-error @+1 {{(to_shards-2) expected one result per device}}
  %0:2 = pmap.to_shards %x : (!whole) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----
!whole = !pmap.dist<tensor<4xf32>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>
func.func @to_shards_3(%x: !whole) {
  // expected-error @+1 {{(to_shards-3) 'tensor<2xf64>' is not a block of}}
  %0:2 = pmap.to_shards %x : (!whole) -> (tensor<2xf32>, tensor<2xf64>)
  return
}

// -----
func.func @widen_1(%x: tensor<3xf32>) {
  // expected-error @+1 {{(widen-1) sizes and element type must stay}}
  %0 = pmap.widen %x : tensor<3xf32> to tensor<4xf32, #pmap.layout<["4"], ["a"]>>
  return
}

// -----
func.func @widen_2(%x: tensor<f32, #pmap.layout<[], ["a"]>>) {
  // expected-error @+1 {{(widen-2) V cannot shrink (V2)}}
  %0 = pmap.widen %x : tensor<f32, #pmap.layout<[], ["a"]>> to tensor<f32>
  return
}

// -----
func.func @all_reduce_1(%x: tensor<i32>) {
  // expected-error @+1 {{(all_reduce-1) expected sum, mean, prod, max, min, maxu or minu, got and}}
  %0 = pmap.all_reduce and (%x) over ["a"] : (tensor<i32>) -> tensor<i32>
  return
}

// -----
func.func @all_reduce_2(%x: tensor<f32>) {
  // expected-error @+1 {{(all_reduce-2) expected axes, each once}}
  %0 = pmap.all_reduce sum (%x) over ["a", "a"] : (tensor<f32>) -> tensor<f32>
  return
}

// -----
func.func @all_reduce_3() {
  // expected-error @+1 {{(all_reduce-3) expected one result for each of at least one operand}}
  pmap.all_reduce sum () over ["a"] : () -> ()
  return
}

// -----
func.func @all_reduce_4(%x: tensor<f32, #pmap.layout<[], ["a", "b"]>>) {
  // expected-error @+1 {{(all_reduce-4) expected the result type 'tensor<f32, #pmap.layout<[], ["b"]>>'}}
  %0 = pmap.all_reduce sum (%x) over ["a"] : (tensor<f32, #pmap.layout<[], ["a", "b"]>>) -> tensor<f32>
  return
}

// -----
// With groups the result varies, since the groups differ (V3).
func.func @all_reduce_4_groups(%x: tensor<f32, #pmap.layout<[], ["a"]>>) {
  // expected-error @+1 {{(all_reduce-4) expected the result type 'tensor<f32, #pmap.layout<[], ["a"]>>', got 'tensor<f32>'}}
  %0 = pmap.all_reduce sum (%x) over ["a"] groups [array<i64: 0, 2>, array<i64: 1, 3>]
    : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
  return
}

// -----
func.func @all_reduce_5(%x: tensor<f32, #pmap.layout<[], ["a"]>>) {
  // expected-error @+1 {{(all_reduce-5) groups partition the positions along the axes (C3)}}
  %0 = pmap.all_reduce sum (%x) over ["a"] groups [array<i64: 0, 1>, array<i64: 1, 3>]
    : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32, #pmap.layout<[], ["a"]>>
  return
}

// -----
func.func @all_reduce_6(%x: tensor<i1>) {
  // expected-error @+1 {{(all_reduce-6) i1 is converted to i32 first (C2)}}
  %0 = pmap.all_reduce sum (%x) over ["a"] : (tensor<i1>) -> tensor<i1>
  return
}

// -----
func.func @all_gather_1(%x: tensor<2xf32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(all_gather-1) expected a dimension below 1, got 1}}
  %0 = pmap.all_gather %x over ["a"] dim 1 tiled
    : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> tensor<?xf32, #pmap.layout<["2*@a"], []>>
  return
}

// -----
func.func @all_gather_2(%x: tensor<2xf32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(all_gather-2) expected the result type 'tensor<?xf32, #pmap.layout<["2*@a"], []>>'}}
  %0 = pmap.all_gather %x over ["a"] dim 0 tiled
    : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> tensor<?xf32, #pmap.layout<["n"], []>>
  return
}

// -----
func.func @all_gather_3(%x: tensor<2xf32, #pmap.layout<["2"], ["a"]>>) {
  // expected-error @+1 {{(all_gather-3) expected the result type}}
  %0 = pmap.all_gather %x over ["a"] dim 0
    : tensor<2xf32, #pmap.layout<["2"], ["a"]>> -> tensor<?x2xf32, #pmap.layout<["@a", "2"], ["a"]>>
  return
}

// -----
func.func @axis_index_1() {
  // expected-error @+1 {{(axis_index-1) expected the result type 'tensor<i32, #pmap.layout<[], ["a"]>>', got 'tensor<i32>'}}
  %0 = pmap.axis_index "a" : tensor<i32>
  return
}

// -----
func.func @axis_size_1() {
  // expected-error @+1 {{(axis_size-1) expected the name of an axis}}
  %0 = pmap.axis_size ""
  return
}
