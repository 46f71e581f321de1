// Collectives that move arrays: every size on every number of devices against the definition, groups, the order of
// axes, and permutations that are none.

#include "test/runtime/Arrays.h"

using namespace pmap::test;

namespace {

constexpr pmap_site at{"body.pmap", 4, 9, nullptr};

/// Who meets: the number of axes, the axes, the number of groups, the groups.
constexpr int32_t alongA[] = {1, 0, 0}, alongBoth[] = {2, 0, 1, 0}, alongBothSwapped[] = {2, 1, 0, 0};
constexpr int32_t pairs[] = {1, 0, 2, 2, 3, 0, 2, 1, 2}, uneven[] = {1, 0, 2, 3, 0, 1, 3, 1, 2};

/// Element i of the array of rank r.
int32_t element(int64_t r, int64_t i) { return (int32_t)(r * 1000003 + i * 7); }

std::vector<int32_t> arrayOf(int64_t r, int64_t n) {
  std::vector<int32_t> array((size_t)n);
  for (int64_t i = 0; i < n; ++i)
    array[(size_t)i] = element(r, i);
  return array;
}

int64_t sizes[3];

class Exchanges : public testing::TestWithParam<int> {
protected:
  void SetUp() override { pmap_rt_start(GetParam(), 0); }
  void TearDown() override { pmap_rt_stop(); }
};

TEST_P(Exchanges, ReduceScatter) {
  // Sizes below and above what is staged; rows that end within a line.
  for (int64_t outer : {1, 3})
    for (int64_t inner : {0, 1, 5, 300, 70001}) {
      sizes[0] = outer;
      sizes[1] = inner;
      ASSERT_EQ(runMap("mesh a=-1;",
                       [](void **) {
                         int64_t outer = sizes[0], inner = sizes[1], d = pmap_rt_axis_size(0),
                                 me = pmap_rt_axis_index(0);
                         auto x = arrayOf(me, outer * d * inner);
                         std::vector<int32_t> y((size_t)(outer * inner), -1);
                         pmap_rt_reduce_scatter(&at, alongA, PMAP_i32, outer, inner, x.data(), y.data());
                         for (int64_t o = 0; o < outer; ++o)
                           for (int64_t i = 0; i < inner; ++i) {
                             int32_t sum = 0;
                             for (int64_t r = 0; r < d; ++r)
                               sum += element(r, (o * d + me) * inner + i);
                             ASSERT_EQ(y[(size_t)(o * inner + i)], sum)
                                 << outer << ' ' << inner << ' ' << o << ' ' << i;
                           }
                       }),
                "");
    }
}

TEST_P(Exchanges, AllToAllOfEveryPairOfDimensions) {
  // Element (i, j, k) of [s0, s1, s2], whichever of the three is cut and whichever grows.
  for (int64_t length : {1, 40})
    for (int split = 0; split < 3; ++split)
      for (int concat = 0; concat < 3; ++concat) {
        sizes[0] = length;
        sizes[1] = split;
        sizes[2] = concat;
        ASSERT_EQ(runMap("mesh a=-1;",
                         [](void **) {
                           int64_t d = pmap_rt_axis_size(0), me = pmap_rt_axis_index(0), s = sizes[1], c = sizes[2];
                           std::vector<int64_t> shape = {sizes[0], 3, sizes[0] + 1}, result;
                           shape[(size_t)s] *= d;
                           result = shape;
                           result[(size_t)s] /= d;
                           result[(size_t)c] *= d;
                           int64_t n = shape[0] * shape[1] * shape[2], piece = shape[(size_t)s] / d;
                           Packed<int32_t> x(shape, arrayOf(me, n));
                           std::vector<int32_t> y((size_t)n, -1);
                           pmap_rt_all_to_all(&at, alongA, 4, 3, (int32_t)s, (int32_t)c, (pmap_array *)x.pointer(),
                                              y.data());
                           int64_t part = result[(size_t)c] / d; // what each sender gives along `concat`
                           for (int64_t flat = 0; flat < n; ++flat) {
                             std::vector<int64_t> p = {flat / (result[1] * result[2]), flat / result[2] % result[1],
                                                       flat % result[2]};
                             int64_t sender = p[(size_t)c] / part;
                             p[(size_t)c] %= part;
                             p[(size_t)s] += me * piece;
                             ASSERT_EQ(y[(size_t)flat], element(sender, (p[0] * shape[1] + p[1]) * shape[2] + p[2]));
                           }
                         }),
                  "");
      }
}

TEST_P(Exchanges, ARingOfEverySize) {
  for (int64_t n : {1, 5, 2000, 300001}) {
    sizes[0] = n;
    ASSERT_EQ(runMap("mesh a=-1;",
                     [](void **) {
                       int64_t n = sizes[0], d = pmap_rt_axis_size(0), me = pmap_rt_axis_index(0);
                       auto x = arrayOf(me, n);
                       std::vector<int32_t> y(x.size(), -1), ring((size_t)d), line((size_t)d);
                       int32_t fill = -5;
                       for (int64_t i = 0; i < d; ++i) {
                         ring[(size_t)i] = (int32_t)((i + 1) % d);
                         line[(size_t)i] = (int32_t)(i + 1 < d ? i + 1 : -1);
                       }
                       const void *in[] = {x.data(), ring.data(), &fill};
                       int64_t counts[] = {n, d, 1};
                       for (int round = 0; round < 3; ++round) {
                         pmap_rt_send(&at, alongA, 4, 3, in, y.data(), counts);
                         for (int64_t i = 0; i < n; ++i)
                           ASSERT_EQ(y[(size_t)i], element((me + d - 1) % d, i));
                       }
                       in[1] = line.data();
                       pmap_rt_send(&at, alongA, 4, 3, in, y.data(), counts);
                       for (int64_t i = 0; i < n; ++i)
                         ASSERT_EQ(y[(size_t)i], me ? element(me - 1, i) : -5);
                     }),
              "");
  }
}

TEST_P(Exchanges, PermutationsThatAreNone) {
  // C3: said before anything moves, by the lowest device.
  auto run = [](int32_t first, int32_t rest) {
    sizes[0] = first;
    sizes[1] = rest;
    return runMap("mesh a=-1;", [](void **) {
      std::vector<int32_t> to((size_t)pmap_rt_axis_size(0), (int32_t)sizes[1]);
      to[0] = (int32_t)sizes[0];
      float x = 1, y, fill = 0;
      const void *in[] = {&x, to.data(), &fill};
      int64_t counts[] = {1, (int64_t)to.size(), 1};
      // An error unwinds past destructors, and a test frees what it made.
      static int32_t tables[8][8];
      int32_t *table = tables[pmap_rt_axis_index(0)];
      std::copy(to.begin(), to.end(), table);
      std::vector<int32_t>().swap(to);
      in[1] = table;
      pmap_rt_send(&at, alongA, 4, 3, in, &y, counts);
    });
  };
  std::string devices = std::to_string(GetParam());
  EXPECT_EQ(run(99, -1), "body.pmap:4:9: error: position 0 sends to 99, which is none of the axis's " + devices +
                             " devices [E1124]\n");
  EXPECT_EQ(run(-2, -1), "body.pmap:4:9: error: position 0 sends to -2, which is none of the axis's " + devices +
                             " devices [E1124]\n");
  if (GetParam() > 1) {
    EXPECT_EQ(run(0, 0), "body.pmap:4:9: error: positions 0 and 1 both send to 0 [E1124]\n");
  }
}

TEST_P(Exchanges, ASizeThatDoesNotDivide) {
  if (GetParam() == 1)
    return;
  std::string message = runMap("mesh a=-1;", [](void **) {
    static int32_t x[17];
    struct {
      void *allocated, *aligned;
      int64_t offset, size, stride;
    } array{x, x, 0, 17, 1};
    static int32_t y[17];
    pmap_rt_all_to_all(&at, alongA, 4, 1, 0, 0, (pmap_array *)&array, y);
  });
  EXPECT_EQ(message, "body.pmap:4:9: error: division is not exact: 17 / " + std::to_string(GetParam()) +
                         " [E1103]\nnote: on device 0\n");
}

INSTANTIATE_TEST_SUITE_P(Devices, Exchanges, testing::Values(1, 2, 3, 4, 8));

TEST(ExchangeGroups, MembersStandAsTheirGroupNamesThem) {
  pmap_rt_start(4, 0);
  ASSERT_EQ(runMap("mesh a=4;",
                   [](void **) {
                     int64_t me = pmap_rt_axis_index(0);
                     int32_t x = (int32_t)me, y[2] = {-1, -1};
                     pmap_rt_all_gather(&at, pairs, 1, 4, &x, y);
                     EXPECT_EQ(y[0], me % 3 ? 1 : 3);
                     EXPECT_EQ(y[1], me % 3 ? 2 : 0);
                     int32_t two[2] = {x, 10 * x}, sum = -1;
                     pmap_rt_reduce_scatter(&at, pairs, PMAP_i32, 1, 1, two, &sum);
                     // Device 3 stands before device 0, and 1 before 2.
                     EXPECT_EQ(sum, me % 3 ? (me == 1 ? 3 : 30) : (me == 3 ? 3 : 30));
                   }),
            "");
  pmap_rt_stop();
}

TEST(ExchangeGroups, OfDifferentSizes) {
  pmap_rt_start(4, 0);
  ASSERT_EQ(runMap("mesh a=4;",
                   [](void **) {
                     int64_t me = pmap_rt_axis_index(0), n = 1;
                     float x = (float)(me + 1), mean = 0;
                     const void *ins[] = {&x};
                     void *outs[] = {&mean};
                     pmap_rt_all_reduce(&at, uneven, PMAP_REDUCE_MEAN, PMAP_f32, 1, ins, outs, &n);
                     // C2: each divides by its own group.
                     EXPECT_FLOAT_EQ(mean, me == 2 ? 3.0f : 7.0f / 3);
                   }),
            "");
  pmap_rt_stop();
}

TEST(ExchangeGroups, AxesInTheOrderNamed) {
  pmap_rt_start(6, 0);
  ASSERT_EQ(runMap("mesh a=2 b=3;",
                   [](void **) {
                     int64_t a = pmap_rt_axis_index(0), b = pmap_rt_axis_index(1);
                     int32_t x = (int32_t)(10 * a + b), y[6];
                     pmap_rt_all_gather(&at, alongBoth, 1, 4, &x, y);
                     for (int i = 0; i < 6; ++i)
                       EXPECT_EQ(y[i], i / 3 * 10 + i % 3);
                     pmap_rt_all_gather(&at, alongBothSwapped, 1, 4, &x, y);
                     for (int i = 0; i < 6; ++i)
                       EXPECT_EQ(y[i], i % 2 * 10 + i / 2);
                   }),
            "");
  pmap_rt_stop();
}

} // namespace
