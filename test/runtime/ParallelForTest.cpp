// Loops over a device's threads.

#include "test/runtime/Arrays.h"

#include <atomic>

using namespace pmap::test;

namespace {

class ParallelFor : public testing::TestWithParam<int> {
protected:
  void SetUp() override { pmap_rt_start(1, GetParam()); }
  void TearDown() override { pmap_rt_stop(); }
};

TEST_P(ParallelFor, CoversEveryIndexOnce) {
  for (int64_t n : {0, 1, 7, 64, 1001, 100000})
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits((size_t)n);
      struct Closure {
        std::atomic<int> *hits;
        int64_t grain, n;
      } closure{hits.data(), grain, n};
      pmap_rt_parallel_for(
          [](void *c, int64_t lo, int64_t hi) {
            auto &closure = *(Closure *)c;
            EXPECT_TRUE(lo % closure.grain == 0 && (hi % closure.grain == 0 || hi == closure.n));
            for (int64_t i = lo; i < hi; ++i)
              closure.hits[i]++;
          },
          &closure, n, grain);
      for (auto &hit : hits)
        ASSERT_EQ(hit, 1);
    }
}

TEST_P(ParallelFor, NestedLoopsRunInline) {
  std::atomic<int64_t> sum{0};
  pmap_rt_parallel_for(
      [](void *c, int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i)
          pmap_rt_parallel_for(
              [](void *c, int64_t lo, int64_t hi) {
                EXPECT_EQ(lo, 0);
                EXPECT_EQ(hi, 100);
                *(std::atomic<int64_t> *)c += hi - lo;
              },
              c, 100, 1);
      },
      &sum, 50, 1);
  EXPECT_EQ(sum, 5000);
}

TEST_P(ParallelFor, TheLowestFailingPieceIsReported) {
  static constexpr pmap_site site{"loop.pmap", 3, 1, nullptr};
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::string message = launch([] {
      pmap_rt_parallel_for(
          [](void *, int64_t lo, int64_t hi) {
            for (int64_t i = lo; i < hi; ++i)
              if (i >= 40)
                pmap_rt_fail(&site, PMAP_FAIL_INDEX, i, 0, 40);
          },
          nullptr, 100, 1);
    });
    ASSERT_EQ(message, "loop.pmap:3:1: error: index 40 is out of range for dimension 0 of size 40 [E1101]\n");
  }
  // The threads are unharmed.
  std::atomic<int64_t> sum{0};
  pmap_rt_parallel_for([](void *c, int64_t lo, int64_t hi) { *(std::atomic<int64_t> *)c += hi - lo; }, &sum, 1000, 1);
  EXPECT_EQ(sum, 1000);
}

TEST_P(ParallelFor, ManyShortLoops) {
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 20000; ++i)
    pmap_rt_parallel_for([](void *c, int64_t lo, int64_t hi) { *(std::atomic<int64_t> *)c += hi - lo; }, &sum, 8, 1);
  EXPECT_EQ(sum, 160000);
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelFor, testing::Values(1, 2, 3, 8));

} // namespace
