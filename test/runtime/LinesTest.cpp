// Sorts and scans along lines of arrays, on one thread and several.

#include "test/runtime/Arrays.h"

#include "pmap/dtypes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace pmap::test;

namespace {

class Lines : public testing::TestWithParam<int> {
protected:
  void SetUp() override { pmap_rt_start(1, GetParam()); }
  void TearDown() override { pmap_rt_stop(); }
};

template <typename T> bool comesBefore(T a, T b, bool descending) {
  if (a != a || b != b)
    return a == a && b != b;
  return descending ? a > b : a < b;
}

/// Sorts arrays of many shapes, and compares every bit with a stable sort of each line.
template <typename T> void sortsAsExpected(int32_t dtype) {
  std::mt19937 random(1);
  for (int64_t length : {0, 1, 2, 7, 64, 1001, 8193})
    for (int64_t inner : {1, 3, 17, 40})
      for (int64_t outer : {1, 5, 20})
        for (bool descending : {false, true})
          for (bool indices : {false, true})
            for (int64_t kept : {length, length / 3}) {
              if (length * inner * outer > 20000)
                continue;
              std::vector<T> in((size_t)(length * inner * outer));
              for (T &value : in) {
                value = (T)((int)(random() % 200) - 100);
                if constexpr (!std::is_integral_v<T>)
                  switch (random() % 64) {
                  case 0:
                    value = (T)NAN;
                    break;
                  case 1:
                    value = (T)-0.0;
                    break;
                  case 2:
                    value = (T)-INFINITY;
                    break;
                  default:
                    break;
                  }
              }
              int64_t bytes = indices ? 4 : (int64_t)sizeof(T);
              std::vector<char> out((size_t)(outer * kept * inner * bytes + 1));
              pmap_rt_sort(dtype, descending, indices, outer, length, inner, kept, in.data(), out.data());
              std::vector<int32_t> order((size_t)length);
              for (int64_t line = 0; line < outer * inner; ++line) {
                int64_t o = line / inner, c = line % inner;
                auto at = [&](int64_t i) -> const T & { return in[(size_t)((o * length + i) * inner + c)]; };
                std::iota(order.begin(), order.end(), 0);
                std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
                  bool ahead = comesBefore(at(a), at(b), descending), behind = comesBefore(at(b), at(a), descending);
                  return ahead || (!behind && a < b);
                });
                for (int64_t i = 0; i < kept; ++i) {
                  const void *want = indices ? (const void *)&order[(size_t)i] : (const void *)&at(order[(size_t)i]);
                  ASSERT_EQ(memcmp(&out[(size_t)(((o * kept + i) * inner + c) * bytes)], want, (size_t)bytes), 0)
                      << outer << "x" << length << "x" << inner << ", kept " << kept << ", element " << i << " of line "
                      << line;
                }
              }
            }
}

TEST_P(Lines, AreSortedStably) {
  sortsAsExpected<int8_t>(PMAP_i8);
  sortsAsExpected<uint16_t>(PMAP_u16);
  sortsAsExpected<int32_t>(PMAP_i32);
  sortsAsExpected<uint64_t>(PMAP_u64);
  sortsAsExpected<float>(PMAP_f32);
  sortsAsExpected<double>(PMAP_f64);
}

/// Scans, and compares with a loop in `Wide`, and every bit with the result of one thread.
template <typename T, typename Wide> void scansAsExpected(int32_t kind, int32_t dtype, double tolerance) {
  std::mt19937 random(2);
  for (int64_t lines : {0, 1, 2, 5, 33})
    for (int64_t length : {0, 1, 7, 511, 512, 513, 1001, 5000, 70000, 300001}) {
      if (lines * length > 400000)
        continue;
      std::vector<T> in((size_t)(lines * length)), out(in.size()), alone(in.size());
      for (T &value : in)
        value = kind == PMAP_REDUCE_PROD ? (T)(1 + (std::is_integral_v<T> ? 2 : 1e-4) * (int)(random() % 3))
                                         : (T)((int)(random() % 7) - 3);
      pmap_rt_scan(kind, dtype, lines, length, in.data(), out.data());
      for (int64_t line = 0; line < lines; ++line) {
        Wide running = kind == PMAP_REDUCE_PROD ? 1 : 0;
        for (int64_t i = line * length; i < (line + 1) * length; ++i) {
          running = kind == PMAP_REDUCE_PROD ? running * (Wide)in[(size_t)i] : running + (Wide)in[(size_t)i];
          T want = (T)running;
          if constexpr (std::is_integral_v<T>)
            ASSERT_EQ(out[(size_t)i], want) << lines << "x" << length << " at " << i;
          else
            ASSERT_NEAR((double)out[(size_t)i], (double)want, tolerance * std::max(1.0, std::fabs((double)want)));
        }
      }
      // Inside of a parallel loop everything runs on one thread.
      struct Closure {
        int32_t kind, dtype;
        int64_t lines, length;
        const void *in;
        void *out;
      } closure{kind, dtype, lines, length, in.data(), alone.data()};
      pmap_rt_parallel_for(
          [](void *c, int64_t, int64_t) {
            auto &closure = *(Closure *)c;
            pmap_rt_scan(closure.kind, closure.dtype, closure.lines, closure.length, closure.in, closure.out);
          },
          &closure, 1, 1);
      if (!in.empty()) {
        ASSERT_EQ(memcmp(out.data(), alone.data(), in.size() * sizeof(T)), 0);
      }
    }
}

TEST_P(Lines, AreScanned) {
  for (int32_t kind : {PMAP_REDUCE_SUM, PMAP_REDUCE_PROD}) {
    scansAsExpected<int8_t, uint8_t>(kind, PMAP_i8, 0);
    scansAsExpected<int32_t, uint32_t>(kind, PMAP_i32, 0);
    scansAsExpected<uint64_t, uint64_t>(kind, PMAP_u64, 0);
    scansAsExpected<float, double>(kind, PMAP_f32, 1e-3);
    scansAsExpected<double, double>(kind, PMAP_f64, 1e-11);
  }
}

TEST(Scans, HaveTheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::vector<float> in(1000003), first(in.size()), out(in.size());
  for (float &value : in)
    value = (float)(random() % 1000) * 1e-3f;
  for (int threads : {1, 2, 5}) {
    pmap_rt_start(1, threads);
    pmap_rt_scan(PMAP_REDUCE_SUM, PMAP_f32, 1, (int64_t)in.size(), in.data(), threads == 1 ? first.data() : out.data());
    pmap_rt_stop();
    if (threads > 1)
      EXPECT_EQ(memcmp(first.data(), out.data(), in.size() * sizeof(float)), 0) << threads << " threads";
  }
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
}

INSTANTIATE_TEST_SUITE_P(Threads, Lines, testing::Values(1, 3));

} // namespace
