// An op whose arrays a later one reads as well moves behind that one, unless its result is wanted before.
// RUN: %pmap-opt --pass-pipeline='builtin.module(func.func(pmap-cpu-group-readers))' %s | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The moment moves behind the new parameters, which read the old moment: then that may be overwritten.
// CHECK-LABEL: func @moment
// CHECK:         linalg.generic
// CHECK:           arith.subf
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK:         return
func.func @moment(%n: index, %p: tensor<?xf32>, %m: tensor<?xf32>, %g: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %empty = tensor.empty(%n) : tensor<?xf32>
  %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m, %g : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %model = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%p, %m, %g : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %t = arith.subf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %next, %model : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func @wanted_before
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK:         tensor.extract
// CHECK:         linalg.generic
// CHECK:           arith.subf
func.func @wanted_before(%n: index, %m: tensor<?xf32>, %g: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0 : index
  %empty = tensor.empty(%n) : tensor<?xf32>
  %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m, %g : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %first = tensor.extract %next[%zero] : tensor<?xf32>
  %model = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m, %g : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %t = arith.subf %s, %first : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %next, %model : tensor<?xf32>, tensor<?xf32>
}
