// RUN: %pmap-opt %s --pmap-cpu-expand-math | FileCheck %s

// exp and tanh of f32 are polynomials in place; other functions are the vector library's, of the width that fits.
// CHECK-DAG: llvm.func @_ZGVeN16v_logf(vector<16xf32>) -> vector<16xf32> attributes {memory_effects = #llvm.memory_effects<other = none{{.*}}>, no_unwind, will_return}
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: call @
// CHECK: math.fma
// CHECK: math.fma
// CHECK: arith.divf
func.func @in_place(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.tanh %0 : vector<16xf32>
  return %1 : vector<16xf32>
}

// CHECK-LABEL: func.func @library
// CHECK: llvm.call @_ZGVeN16v_logf
// CHECK: llvm.call @_ZGVeN8v_tanh(
// CHECK: llvm.call @_ZGVeN16vv_powf
// CHECK: llvm.call @_ZGVdN8v_sinf
func.func @library(%x: vector<16xf32>, %y: vector<8xf64>, %z: vector<8xf32>) -> (vector<16xf32>, vector<8xf64>, vector<8xf32>) {
  %0 = math.log %x : vector<16xf32>
  %1 = math.tanh %y : vector<8xf64>
  %2 = math.powf %0, %x : vector<16xf32>
  %3 = math.sin %z : vector<8xf32>
  return %2, %1, %3 : vector<16xf32>, vector<8xf64>, vector<8xf32>
}

// f16 computes in f32. Scalars are left to libm.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: llvm.call @_ZGVeN16v_logf
// CHECK: arith.truncf
// CHECK: math.log {{.*}} : f32
func.func @narrow(%x: vector<16xf16>, %y: f32) -> (vector<16xf16>, f32) {
  %0 = math.log %x : vector<16xf16>
  %1 = math.log %y : f32
  return %0, %1 : vector<16xf16>, f32
}
