// Collectives: values for every kind, dtype and size, equal bits everywhere, groups, and what happens when devices
// disagree.

#include "runtime/core/Wait.h"
#include "runtime/io/Elements.h"
#include "test/runtime/Arrays.h"

#include <cmath>

using namespace pmap::test;
using namespace pmap::rt;

namespace {

constexpr pmap_site at{"body.pmap", 4, 9, nullptr};

/// Who meets: the number of axes, the axes, the number of groups, the groups.
constexpr int32_t alongA[] = {1, 0, 0}, alongB[] = {1, 1, 0}, alongBoth[] = {2, 0, 1, 0};

class Collectives : public testing::TestWithParam<int> {
protected:
  void SetUp() override { pmap_rt_start(GetParam(), 0); }
  void TearDown() override { pmap_rt_stop(); }
};

/// A value for rank r and element i that every dtype can hold.
double sample(int64_t r, int64_t i) { return (double)((i * 7 + r * 3) % 5 + 1); }

void store(int32_t dtype, void *data, int64_t i, double value) {
  switch (dtype) {
  case PMAP_f16:
    ((uint16_t *)data)[i] = floatToHalf((float)value);
    break;
  case PMAP_bf16:
    ((uint16_t *)data)[i] = floatToBfloat((float)value);
    break;
  case PMAP_f32:
    ((float *)data)[i] = (float)value;
    break;
  case PMAP_f64:
    ((double *)data)[i] = value;
    break;
  default: {
    int64_t whole = (int64_t)value;
    memcpy((char *)data + i * pmap_dtype_bytes(dtype), &whole, (size_t)pmap_dtype_bytes(dtype));
  }
  }
}

double load(int32_t dtype, const void *data, int64_t i) {
  char kind = kindOf(dtype);
  return kind == 'f'   ? loadFloat(dtype, data, i)
         : kind == 'u' ? (double)loadUnsigned(dtype, data, i)
                       : (double)loadSigned(dtype, data, i);
}

/// What one combination must give.
double expected(int32_t kind, int32_t dtype, int64_t ranks, int64_t i) {
  double value = sample(0, i);
  for (int64_t r = 1; r < ranks; ++r) {
    double next = sample(r, i);
    value = kind == PMAP_REDUCE_MAX    ? std::max(value, next)
            : kind == PMAP_REDUCE_MIN  ? std::min(value, next)
            : kind == PMAP_REDUCE_PROD ? value * next
                                       : value + next;
  }
  if (kind == PMAP_REDUCE_MEAN)
    value /= (double)ranks;
  alignas(8) char rounded[8] = {};
  if (kindOf(dtype) == 'f') {
    store(dtype, rounded, 0, value);
  } else {
    int64_t whole = (int64_t)value; // Wraps as the dtype does.
    memcpy(rounded, &whole, (size_t)pmap_dtype_bytes(dtype));
  }
  return load(dtype, rounded, 0);
}

struct Case {
  int32_t kind, dtype;
  int64_t n;
} current;

TEST_P(Collectives, EveryKindDtypeAndSize) {
  for (int32_t dtype = PMAP_i8; dtype < PMAP_key; ++dtype)
    for (int32_t kind = PMAP_REDUCE_SUM; kind <= PMAP_REDUCE_PROD; ++kind)
      for (int64_t n : {0, 1, 7, 1001, 5000, 70000}) {
        if (kind == PMAP_REDUCE_MEAN && kindOf(dtype) != 'f')
          continue;
        if (kind == PMAP_REDUCE_PROD && dtype == PMAP_f16 && GetParam() > 4)
          continue; // Past what f16 can hold.
        current = {kind, dtype, n};
        ASSERT_EQ(runMap("mesh a=-1;",
                         [](void **) {
                           auto [kind, dtype, n] = current;
                           int64_t bytes = n * pmap_dtype_bytes(dtype), r = pmap_rt_axis_index(0);
                           void *in = pmap_rt_alloc(bytes), *out = pmap_rt_alloc(bytes);
                           for (int64_t i = 0; i < n; ++i)
                             store(dtype, in, i, sample(r, i));
                           const void *ins[] = {in};
                           void *outs[] = {out};
                           pmap_rt_all_reduce(&at, alongA, kind, dtype, 1, ins, outs, &n);
                           for (int64_t i = 0; i < n; ++i)
                             if (load(dtype, out, i) != expected(kind, dtype, pmap_rt_axis_size(0), i)) {
                               ADD_FAILURE() << "kind " << kind << " of " << pmap_dtype_name(dtype) << " element " << i
                                             << " of " << n << ": " << load(dtype, out, i) << ", expected "
                                             << expected(kind, dtype, pmap_rt_axis_size(0), i);
                               break;
                             }
                           pmap_rt_free(in);
                           pmap_rt_free(out);
                         }),
                  "");
      }
}

TEST_P(Collectives, EqualBitsOnEveryDeviceAndThreadCount) {
  // Sums in another order would differ in the last bits.
  static std::vector<std::vector<float>> results;
  std::vector<float> wanted;
  for (int threads : {1, 2, 16})
    for (int64_t n : {1000, 100003}) {
      pmap_rt_start(GetParam(), threads);
      results.assign(8, {});
      current.n = n;
      ASSERT_EQ(runMap("mesh a=-1;",
                       [](void **) {
                         int64_t n = current.n, r = pmap_rt_axis_index(0);
                         auto *x = (float *)pmap_rt_alloc(n * 4);
                         for (int64_t i = 0; i < n; ++i)
                           x[i] = std::sin((float)(i * 31 + r * 17)) * std::exp((float)((i + r) % 20));
                         const void *ins[] = {x};
                         void *outs[] = {x}; // In place.
                         pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs, &n);
                         results[(size_t)r].assign(x, x + n);
                         pmap_rt_free(x);
                       }),
                "");
      for (int64_t i = 0; i < n; ++i) {
        float sum = 0;
        for (int64_t r = 0; r < GetParam(); ++r) {
          float next = std::sin((float)(i * 31 + r * 17)) * std::exp((float)((i + r) % 20));
          sum = r ? sum + next : next;
        }
        for (int64_t r = 0; r < GetParam(); ++r)
          ASSERT_EQ(results[(size_t)r][(size_t)i], sum);
      }
    }
}

TEST_P(Collectives, SeveralArraysAreOneCollective) {
  static pmap_stats before, after;
  pmap_rt_get_stats(&before);
  ASSERT_EQ(runMap("mesh a=-1;",
                   [](void **) {
                     float a[3] = {1, 2, 3}, b = (float)pmap_rt_axis_index(0);
                     const void *ins[] = {a, &b};
                     void *outs[] = {a, &b};
                     int64_t n[] = {3, 1}, d = pmap_rt_axis_size(0);
                     pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f32, 2, ins, outs, n);
                     EXPECT_EQ(a[2], 3 * (float)d);
                     EXPECT_EQ(b, (float)(d * (d - 1) / 2));
                   }),
            "");
  pmap_rt_get_stats(&after);
  // C4: an axis of size 1 costs nothing.
  EXPECT_EQ(after.collectives - before.collectives, GetParam() > 1 ? 1 : 0);
}

TEST_P(Collectives, AllGather) {
  for (int64_t inner : {1, 3, 4000})
    for (int64_t outer : {1, 2, 5}) {
      static int64_t sizes[2];
      sizes[0] = outer;
      sizes[1] = inner;
      ASSERT_EQ(runMap("mesh a=-1;",
                       [](void **) {
                         int64_t outer = sizes[0], inner = sizes[1], d = pmap_rt_axis_size(0),
                                 r = pmap_rt_axis_index(0);
                         auto *x = (int32_t *)pmap_rt_alloc(outer * inner * 4);
                         auto *y = (int32_t *)pmap_rt_alloc(outer * inner * d * 4);
                         for (int64_t i = 0; i < outer * inner; ++i)
                           x[i] = (int32_t)(r * 100000 + i);
                         pmap_rt_all_gather(&at, alongA, outer, inner * 4, x, y);
                         for (int64_t o = 0; o < outer; ++o)
                           for (int64_t k = 0; k < d; ++k)
                             for (int64_t i = 0; i < inner; ++i)
                               ASSERT_EQ(y[(o * d + k) * inner + i], k * 100000 + o * inner + i);
                         pmap_rt_free(x);
                         pmap_rt_free(y);
                       }),
                "");
    }
}

TEST_P(Collectives, ManySmallOnesInARow) {
  ASSERT_EQ(runMap("mesh a=-1;",
                   [](void **) {
                     int64_t one = 1, d = pmap_rt_axis_size(0);
                     for (int64_t i = 0; i < 3000; ++i) {
                       int64_t x = i + pmap_rt_axis_index(0);
                       const void *ins[] = {&x};
                       void *outs[] = {&x};
                       pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_i64, 1, ins, outs, &one);
                       if (x != d * i + d * (d - 1) / 2)
                         pmap_rt_fail(&at, PMAP_FAIL_INDEX, x, 0, i);
                     }
                   }),
            "");
}

TEST_P(Collectives, SmallAndLargeMixed) {
  ASSERT_EQ(runMap("mesh a=-1;",
                   [](void **) {
                     int64_t d = pmap_rt_axis_size(0);
                     auto *x = (double *)pmap_rt_alloc(9000 * 8);
                     for (int64_t round = 0; round < 60; ++round) {
                       int64_t n = round % 3 == 0 ? 9000 : round % 3 == 1 ? 4 : 512;
                       for (int64_t i = 0; i < n; ++i)
                         x[i] = (double)(i + round);
                       const void *ins[] = {x};
                       void *outs[] = {x};
                       pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f64, 1, ins, outs, &n);
                       for (int64_t i = 0; i < n; ++i)
                         if (x[i] != (double)(d * (i + round)))
                           pmap_rt_fail(&at, PMAP_FAIL_INDEX, i, round, n);
                     }
                     pmap_rt_free(x);
                   }),
            "");
}

TEST_P(Collectives, AFailingDeviceWakesTheOthers) {
  // F30.
  double begin = now();
  static constexpr pmap_site failing{"body.pmap", 2, 1, "too large"};
  std::string message = runMap("mesh a=-1;", [](void **) {
    if (pmap_rt_axis_index(0) == pmap_rt_axis_size(0) - 1)
      pmap_rt_fail(&failing, PMAP_FAIL_ASSERT, 0, 0, 0);
    float x = 1;
    const void *ins[] = {&x};
    void *outs[] = {&x};
    int64_t n = 1;
    pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs, &n);
  });
  std::string device = GetParam() > 1 ? "note: on device " + std::to_string(GetParam() - 1) + "\n" : "";
  EXPECT_EQ(message, "body.pmap:2:1: error: assertion failed: too large [E1102]\n" + device);
  EXPECT_LT(now() - begin, 1);
}

TEST_P(Collectives, ADeviceThatNeverComes) {
  // F11.
  if (GetParam() == 1)
    return;
  double begin = now();
  std::string message = runMap("mesh a=-1;", [](void **) {
    if (pmap_rt_axis_index(0) == 1)
      return;
    float x = 1;
    const void *ins[] = {&x};
    void *outs[] = {&x};
    int64_t n = 1;
    pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs, &n);
  });
  EXPECT_EQ(message, "body.pmap:4:9: error: device 1 finished without reaching the psum that others wait in [E1113]\n");
  EXPECT_LT(now() - begin, 1);
}

TEST_P(Collectives, DevicesThatDisagree) {
  if (GetParam() == 1)
    return;
  static constexpr pmap_site other{"body.pmap", 6, 2, nullptr};
  std::string message = runMap("mesh a=-1;", [](void **) {
    bool last = pmap_rt_axis_index(0) == pmap_rt_axis_size(0) - 1;
    float x[2] = {1, 2};
    const void *ins[] = {x};
    void *outs[] = {x};
    int64_t n = last ? 1 : 2;
    pmap_rt_all_reduce(last ? &other : &at, alongA, last ? PMAP_REDUCE_MAX : PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs,
                       &n);
  });
  EXPECT_EQ(message, "body.pmap:4:9: error: the devices do not agree on this psum [E1112]\n"
                     "note: device 0 is in the psum of 2 f32 at body.pmap:4:9\n"
                     "note: device " +
                         std::to_string(GetParam() - 1) + " is in the pmax of 1 f32 at body.pmap:6:2\n");
}

TEST_P(Collectives, ADeadline) {
  if (GetParam() == 1)
    return;
  pmap_rt_set_timeout(0.2);
  std::string message = runMap("mesh a=-1;", [](void **) {
    if (pmap_rt_axis_index(0) == 0) {
      double end = now() + 0.6;
      while (now() < end)
        relax();
      return;
    }
    float x = 1;
    const void *ins[] = {&x};
    void *outs[] = {&x};
    int64_t n = 1;
    pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs, &n);
  });
  pmap_rt_set_timeout(0);
  EXPECT_NE(message.find(" waited in this psum for 0.2 s; device"), std::string::npos) << message;
  EXPECT_NE(message.find("[E1114]"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, Collectives, testing::Values(1, 2, 3, 8));

TEST(Groups, SubsetsOfAxes) {
  pmap_rt_start(6, 0);
  ASSERT_EQ(runMap("mesh a=2 b=3;",
                   [](void **) {
                     auto sum = [](const int32_t *among) {
                       int32_t x = (int32_t)(pmap_rt_axis_index(0) * 10 + pmap_rt_axis_index(1));
                       const void *ins[] = {&x};
                       void *outs[] = {&x};
                       int64_t n = 1;
                       pmap_rt_all_reduce(&at, among, PMAP_REDUCE_SUM, PMAP_i32, 1, ins, outs, &n);
                       return x;
                     };
                     int64_t a = pmap_rt_axis_index(0), b = pmap_rt_axis_index(1);
                     EXPECT_EQ(sum(alongA), 10 + 2 * b);
                     EXPECT_EQ(sum(alongB), 30 * a + 3);
                     EXPECT_EQ(sum(alongBoth), 36);
                   }),
            "");
  pmap_rt_stop();
}

TEST(Groups, Lists) {
  // F25.
  pmap_rt_start(4, 0);
  ASSERT_EQ(runMap("mesh a=4;",
                   [](void **) {
                     static const int32_t groups[] = {1, 0, 2, 2, 0, 2, 2, 1, 3};
                     int64_t r = pmap_rt_axis_index(0), n = 1;
                     float x = (float)r;
                     const void *ins[] = {&x};
                     void *outs[] = {&x};
                     pmap_rt_all_reduce(&at, groups, PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs, &n);
                     EXPECT_EQ(x, r % 2 ? 4 : 2);
                   }),
            "");
  std::string message = runMap("mesh a=4;", [](void **) {
    static const int32_t groups[] = {1, 0, 2, 2, 0, 2, 2, 1, 2};
    int64_t n = 1;
    float x = 0;
    const void *ins[] = {&x};
    void *outs[] = {&x};
    pmap_rt_all_reduce(&at, groups, PMAP_REDUCE_SUM, PMAP_f32, 1, ins, outs, &n);
  });
  EXPECT_EQ(
      message,
      "body.pmap:4:9: error: groups name 4 positions, expected each of the 4 devices of their axis once [E1123]\n");
  pmap_rt_stop();
}

TEST(Groups, DevicesThatWaitForEachOther) {
  pmap_rt_start(4, 0);
  double begin = now();
  std::string message = runMap("mesh a=2 b=2;", [](void **) {
    // Each row waits along the other axis.
    float x = 0;
    const void *ins[] = {&x};
    void *outs[] = {&x};
    int64_t n = 1;
    pmap_rt_all_reduce(&at, pmap_rt_axis_index(0) == pmap_rt_axis_index(1) ? alongA : alongB, PMAP_REDUCE_SUM, PMAP_f32,
                       1, ins, outs, &n);
  });
  EXPECT_NE(message.find("the devices wait for each other"), std::string::npos) << message;
  EXPECT_LT(now() - begin, 1);
  pmap_rt_stop();
}

TEST(Reductions, NanPassesThroughMaximaAndMinima) {
  pmap_rt_start(3, 0);
  for (int32_t kind : {PMAP_REDUCE_MAX, PMAP_REDUCE_MIN}) {
    current.kind = kind;
    ASSERT_EQ(runMap("mesh a=3;",
                     [](void **) {
                       float x[3] = {1, 2, 3};
                       x[pmap_rt_axis_index(0)] = NAN;
                       const void *ins[] = {x};
                       void *outs[] = {x};
                       int64_t n = 3;
                       pmap_rt_all_reduce(&at, alongA, current.kind, PMAP_f32, 1, ins, outs, &n);
                       for (float value : x)
                         EXPECT_TRUE(std::isnan(value));
                     }),
              "");
  }
  pmap_rt_stop();
}

TEST(Reductions, HalfAccumulatesAsFloat) {
  // 2048 + 1 + 1 + 1 is 2051 in f32; in f16 every addition of 1 would be lost. 2052 is the f16 nearest to 2051.
  pmap_rt_start(4, 0);
  ASSERT_EQ(runMap("mesh a=4;",
                   [](void **) {
                     uint16_t x = floatToHalf(pmap_rt_axis_index(0) == 0 ? 2048 : 1);
                     const void *ins[] = {&x};
                     void *outs[] = {&x};
                     int64_t n = 1;
                     pmap_rt_all_reduce(&at, alongA, PMAP_REDUCE_SUM, PMAP_f16, 1, ins, outs, &n);
                     EXPECT_EQ(halfToFloat(x), 2052);
                   }),
            "");
  pmap_rt_stop();
}

} // namespace
