// RUN: %pmap-opt %s --pmap-cpu-expand-bf16 | FileCheck %s

// Without bf16 instructions, arithmetic is in f32, and conversions, constants and moves are integer operations.
// CHECK: module attributes {pmap.bf16_as_bits}
// CHECK-LABEL: func.func @scale
// CHECK: vector.broadcast {{.*}} : i16 to vector<16xi16>
// CHECK: arith.shli
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.truncf
// CHECK-NOT: arith.mulf {{.*}} : vector<16xbf16>
func.func @scale(%x: vector<16xbf16>, %y: bf16) -> vector<16xbf16> {
  %0 = vector.broadcast %y : bf16 to vector<16xbf16>
  %1 = arith.mulf %x, %0 : vector<16xbf16>
  return %1 : vector<16xbf16>
}

// An f64 is reached by way of f32.
// CHECK-LABEL: func.func @widen
// CHECK: arith.shli
// CHECK: arith.extf {{.*}} : vector<8xf32> to vector<8xf64>
func.func @widen(%x: vector<8xbf16>) -> vector<8xf64> {
  %0 = arith.extf %x : vector<8xbf16> to vector<8xf64>
  return %0 : vector<8xf64>
}
