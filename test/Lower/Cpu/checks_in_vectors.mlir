// RUN: %pmap-opt %s --pmap-cpu-bufferize --pmap-cpu-lower-kernels | FileCheck %s

#id = affine_map<(d0) -> (d0)>

func.func private @pmap_rt_fail(i64)

// A bounds check in the body asks once per vector whether any lane is out of range; the read is a gather.
// CHECK-LABEL: func.func @take
// CHECK: %[[BAD:.*]] = arith.cmpi uge, {{.*}} : vector<{{.*}}xindex>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[BAD]]
// CHECK: scf.if %[[ANY]]
// CHECK: func.call @pmap_rt_fail
// CHECK: vector.gather
func.func @take(%n: index, %k: index, %x: tensor<?xf32> {bufferization.writable = false}, %i: tensor<?xi32> {bufferization.writable = false}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%k) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%i : tensor<?xi32>) outs(%e : tensor<?xf32>) {
  ^bb0(%in: i32, %out: f32):
    %j = arith.index_cast %in : i32 to index
    %bad = arith.cmpi uge, %j, %n : index
    scf.if %bad {
      %v = arith.index_cast %j : index to i64
      func.call @pmap_rt_fail(%v) : (i64) -> ()
    }
    %safe = arith.select %bad, %c0, %j : index
    %v = tensor.extract %x[%safe] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
