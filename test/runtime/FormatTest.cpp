// Arrays as text. The expected texts were printed by NumPy 2.4.

#include "runtime/io/Format.h"
#include "runtime/io/Elements.h"
#include "test/runtime/Arrays.h"

#include <cmath>

using namespace pmap::rt;
using namespace pmap::test;

namespace {

template <typename T>
std::string text(int32_t dtype, std::vector<int64_t> sizes, const std::vector<T> &values, bool repr = false) {
  return formatArray(dtype, sizes, values.data(), repr);
}

TEST(Format, Floats) {
  EXPECT_EQ(text<float>(PMAP_f32, {3}, {1, 2.25f, 3}), "[1.   2.25 3.  ]");
  EXPECT_EQ(text<float>(PMAP_f32, {3}, {0.1f, 0.2f, 0.3f}), "[0.1 0.2 0.3]");
  EXPECT_EQ(text<double>(PMAP_f64, {2}, {1.0 / 3, 2.0 / 3}), "[0.33333333 0.66666667]");
  EXPECT_EQ(text<double>(PMAP_f64, {2}, {-1, 10}, true), "[-1., 10.]");
  EXPECT_EQ(text<float>(PMAP_f32, {3}, {1e-5f, 1, 2}), "[1.e-05 1.e+00 2.e+00]");
  EXPECT_EQ(text<float>(PMAP_f32, {2}, {1234567, 1}), "[1.234567e+06 1.000000e+00]");
  EXPECT_EQ(text<double>(PMAP_f64, {2}, {1e-300, 1e300}), "[1.e-300 1.e+300]");
  EXPECT_EQ(text<float>(PMAP_f32, {4}, {NAN, INFINITY, -INFINITY, 1.5f}), "[ nan  inf -inf  1.5]");
  EXPECT_EQ(text<float>(PMAP_f32, {2}, {-0.0f, 0}), "[-0.  0.]");
}

TEST(Format, Scalars) {
  EXPECT_EQ(text<float>(PMAP_f32, {}, {152.133f}), "152.133");
  EXPECT_EQ(text<float>(PMAP_f32, {}, {1}), "1.0");
  EXPECT_EQ(text<float>(PMAP_f32, {}, {1e6f}), "1e+06");
  EXPECT_EQ(text<double>(PMAP_f64, {}, {1e15}), "1000000000000000.0");
  EXPECT_EQ(text<double>(PMAP_f64, {}, {0.1}), "0.1");
  EXPECT_EQ(text<int32_t>(PMAP_i32, {}, {-7}), "-7");
  EXPECT_EQ(text<uint8_t>(PMAP_bool, {}, {1}), "True");
  EXPECT_EQ(text<uint64_t>(PMAP_u64, {}, {UINT64_MAX}), "18446744073709551615");
}

TEST(Format, IntegersAndBools) {
  EXPECT_EQ(text<int32_t>(PMAP_i32, {3}, {1, -20, 300}), "[  1 -20 300]");
  EXPECT_EQ(text<uint8_t>(PMAP_bool, {2}, {1, 0}), "[ True False]");
  EXPECT_EQ(text<uint8_t>(PMAP_u8, {2, 2}, {1, 2, 3, 255}), "[[  1   2]\n [  3 255]]");
}

TEST(Format, ShapesAndSummaries) {
  EXPECT_EQ(text<float>(PMAP_f32, {0}, {}), "[]");
  EXPECT_EQ(text<float>(PMAP_f32, {2, 0}, {}), "[]");
  EXPECT_EQ(text<int32_t>(PMAP_i32, {2, 1, 2}, {1, 2, 3, 4}), "[[[1 2]]\n\n [[3 4]]]");
  EXPECT_EQ(formatArray(PMAP_i32, {1001}, counting<int32_t>(1001).data()), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(formatArray(PMAP_i32, {600, 2}, counting<int32_t>(1200).data()),
            "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [1194 1195]\n [1196 1197]\n [1198 1199]]");
  EXPECT_EQ(formatArray(PMAP_i32, {30}, counting<int32_t>(30).data()),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]");
}

TEST(Format, Halves) {
  EXPECT_EQ(text<uint16_t>(PMAP_f16, {2}, {floatToHalf(0.1f), floatToHalf(1.5f)}), "[0.1 1.5]");
  EXPECT_EQ(text<uint16_t>(PMAP_bf16, {}, {floatToBfloat(3.14159f)}), "3.14");
}

TEST(Elements, HalfRoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = halfToFloat((uint16_t)bits);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(floatToHalf(value), bits);
  }
  EXPECT_EQ(halfToFloat(floatToHalf(65519)), 65504);
  EXPECT_TRUE(std::isinf(halfToFloat(floatToHalf(65520))));
  EXPECT_EQ(floatToHalf(0x1p-25f), 0); // Half of the least subnormal: a tie, to even.
  EXPECT_EQ(floatToHalf(0x1.8p-25f), 1);
}

TEST(Elements, Parsing) {
  std::string why;
  auto parse = [&](int32_t dtype, const char *text) {
    alignas(8) char element[8] = {};
    why.clear();
    if (!parseElement(dtype, text, element, why))
      return "no: " + why;
    return formatArray(dtype, {}, element);
  };
  EXPECT_EQ(parse(PMAP_i32, "1_000"), "1000");
  EXPECT_EQ(parse(PMAP_u8, "0xff"), "255");
  EXPECT_EQ(parse(PMAP_f32, "1.5e-3"), "0.0015");
  EXPECT_EQ(parse(PMAP_f32, "2"), "2.0");
  EXPECT_EQ(parse(PMAP_f64, "2.0f64"), "2.0");
  EXPECT_EQ(parse(PMAP_f32, "inf"), "inf");
  EXPECT_EQ(parse(PMAP_f32, "-inf"), "-inf");
  EXPECT_EQ(parse(PMAP_bool, "true"), "True");
  EXPECT_EQ(parse(PMAP_i32, "1.5"), "no: expected an i32, got '1.5'");
  EXPECT_EQ(parse(PMAP_f32, "2.0f64"), "no: expected an f32, got '2.0f64'");
  EXPECT_EQ(parse(PMAP_u8, "256"), "no: expected a u8, got '256', which does not fit");
  EXPECT_EQ(parse(PMAP_i8, "-129"), "no: expected an i8, got '-129', which does not fit");
  EXPECT_EQ(parse(PMAP_u32, "-1"), "no: expected a u32, got '-1', which does not fit");
  EXPECT_EQ(parse(PMAP_bool, "1"), "no: expected true or false, got '1'");
  EXPECT_EQ(parse(PMAP_f32, "infinity"), "no: expected an f32, got 'infinity'");
  EXPECT_EQ(parse(PMAP_f32, ""), "no: expected an f32, got ''");
}

} // namespace
