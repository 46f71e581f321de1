// RUN: not %pmap-opt %s 2>&1 | FileCheck %s

// CHECK: error: 'pmap_rt.call' op calls a function that is not in RuntimeCalls.def: pmap_rt_nothing
func.func @f(%x: tensor<?xf32>) {
  pmap_rt.call "pmap_rt_nothing"() ins(%x : tensor<?xf32>)
  return
}
