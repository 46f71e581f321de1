// Maps over devices: splitting, meshes, results, distributed values, errors before anything runs.

#include "test/runtime/Arrays.h"

using namespace pmap::test;

namespace {

int64_t moved() {
  pmap_stats stats;
  pmap_rt_get_stats(&stats);
  return stats.moved_bytes;
}

class Map : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    pmap_rt_start(GetParam(), 0);
    pmap_rt_reset_stats();
  }
  void TearDown() override { pmap_rt_stop(); }
};

/// Yields twice its block, f32[n].
void twice(void **args) {
  int64_t n = *(int64_t *)args[0];
  EXPECT_EQ(sizeOf(args[1], 0), n);
  float *x = dataOf<float>(args[1]), *y = fresh<float>(args[2], {n});
  for (int64_t i = 0; i < n; ++i)
    y[i] = 2 * x[i];
}

constexpr const char *ragged = "mesh a=-1; size a ragged \"argument 'x', dimension 0\"; in f32 [a]; out f32 [a];";

TEST_P(Map, SplitsAndGathersAnySize) {
  for (int64_t n : {0, 1, 7, 1001}) {
    Packed<float> x({n}, counting<float>(n)), y(1);
    pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [a];", x.pointer(), 0);
    std::vector<pmap_dist *> out(1);
    ASSERT_EQ(runMap(ragged, twice, {n}, {in}, &out), "");
    int64_t size;
    pmap_rt_dist_sizes(out[0], &size);
    EXPECT_EQ(size, n);
    pmap_rt_move_to_host(&site, out[0], y.pointer(), 1);
    std::vector<float> values = y.values();
    ASSERT_EQ((int64_t)values.size(), n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(values[(size_t)i], 2.0f * (float)i);
    pmap_rt_dist_release(in);
  }
}

TEST_P(Map, ChainingMovesNoByte) {
  Packed<float> x({24}, counting<float>(24)), y(1);
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [a];", x.pointer(), 0);
  std::vector<pmap_dist *> once(1), again(1);
  ASSERT_EQ(runMap(ragged, twice, {24}, {in}, &once), "");
  ASSERT_EQ(runMap(ragged, twice, {24}, {once[0]}, &again), "");
  EXPECT_EQ(moved(), 0);
  pmap_rt_move_to_host(&site, again[0], y.pointer(), 1);
  EXPECT_EQ(y.values()[23], 92);
  // Blocks of several devices lie apart and must be put together.
  EXPECT_EQ(moved(), GetParam() > 1 ? 96 : 0);
  pmap_rt_dist_release(in);
  pmap_rt_dist_release(once[0]);
}

TEST_P(Map, RaggedBlocksGiveTheFirstDevicesOneMore) {
  static std::atomic<int64_t> sizes[8];
  Packed<float> x({10}, counting<float>(10));
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [a];", x.pointer(), 0);
  ASSERT_EQ(runMap("mesh a=-1; size a ragged; in f32 [a];",
                   [](void **args) { sizes[pmap_rt_axis_index(0)] = *(int64_t *)args[0]; }, {10}, {in}),
            "");
  for (int i = 0; i < GetParam(); ++i)
    EXPECT_EQ(sizes[i], 10 / GetParam() + (i < 10 % GetParam()));
  pmap_rt_dist_release(in);
}

TEST_P(Map, SizesMustDivide) {
  static std::atomic<int> ran{0};
  ran = 0;
  Packed<float> x({1001}, counting<float>(1001));
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh rows=-1; in f32 [rows];", x.pointer(), 0);
  std::string message = runMap("mesh rows=-1; size rows \"argument 'x', dimension 0\"; in f32 [rows];",
                               [](void **) { ++ran; }, {1001}, {in});
  if (1001 % GetParam() == 0) {
    EXPECT_EQ(message, "");
  } else {
    EXPECT_EQ(message, "test.pmap:7:3: error: argument 'x', dimension 0: size 1001 does not divide by the " +
                           std::to_string(GetParam()) + " devices of axis \"rows\" [E1120]\n" +
                           "note: write 'ragged: true' to give the first devices one more\n");
    EXPECT_EQ(ran, 0);
  }
  pmap_rt_dist_release(in);
}

TEST_P(Map, ReplicatedInputsAreSharedAndScalarsCopied) {
  static void *seen[8];
  static std::atomic<float> scalars[8];
  Packed<float> w({3}, {1, 2, 3});
  float b = 5;
  pmap_dist *in[] = {pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [_];", w.pointer(), 0),
                     pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [];", &b, 0)};
  ASSERT_EQ(runMap("mesh a=-1; in f32 [_]; in f32 [];",
                   [](void **args) {
                     seen[pmap_rt_axis_index(0)] = dataOf<float>(args[0]);
                     scalars[pmap_rt_axis_index(0)] = *(float *)args[1];
                   },
                   {}, {in[0], in[1]}),
            "");
  for (int i = 0; i < GetParam(); ++i) {
    EXPECT_EQ(seen[i], w.data());
    EXPECT_EQ(scalars[i], 5);
  }
  EXPECT_EQ(moved(), 0);
  pmap_rt_dist_release(in[0]);
  pmap_rt_dist_release(in[1]);
}

TEST_P(Map, ScalarsStack) {
  // F14: no arguments, one number per device.
  Packed<int32_t> y(1);
  std::vector<pmap_dist *> out(1);
  ASSERT_EQ(runMap(
                "mesh a=-1; out i32 [a] stack;",
                [](void **args) { *(int32_t *)args[0] = (int32_t)pmap_rt_axis_index(0); }, {}, {}, &out),
            "");
  pmap_rt_move_to_host(&site, out[0], y.pointer(), 1);
  EXPECT_EQ(y.values(), counting<int32_t>(GetParam()));
}

TEST_P(Map, AnInputMayBeTheResult) {
  Packed<double> x({16}, counting<double>(16)), y(1);
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f64 [a];", x.pointer(), 0);
  std::vector<pmap_dist *> out(2);
  ASSERT_EQ(runMap(
                "mesh a=-1; size a ragged; in f64 [a]; out f64 [a]; out f64 [a];",
                [](void **args) {
                  pmap_rt_retain(((pmap_array *)args[1])->allocated);
                  memcpy(args[2], args[1], sizeof(pmap_array) + 16);
                  pmap_rt_retain(((pmap_array *)args[1])->allocated);
                  memcpy(args[3], args[1], sizeof(pmap_array) + 16);
                },
                {16}, {in}, &out),
            "");
  pmap_rt_dist_release(in);
  pmap_rt_dist_release(out[1]);
  EXPECT_EQ(moved(), 0);
  pmap_rt_move_to_host(&site, out[0], y.pointer(), 1);
  EXPECT_EQ(y.values(), x.values());
  EXPECT_NE(y.data(), x.data()) << "a result is the caller's to write";
}

TEST_P(Map, OtherDimensionsAndMeshes) {
  int n = GetParam();
  // R5 in small: dimension 1 of [2, 2n] over the devices, then regathered.
  Packed<float> x({2, 2 * n}, counting<float>(4 * n)), y(2);
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [_,a];", x.pointer(), 0);
  std::vector<pmap_dist *> out(1);
  ASSERT_EQ(runMap(
                "mesh a=-1; size a; in f32 [_,a]; out f32 [_,a];",
                [](void **args) {
                  int64_t d = *(int64_t *)args[0], n = pmap_rt_axis_size(0), rank = pmap_rt_axis_index(0);
                  EXPECT_EQ(d, 2);
                  float *x = dataOf<float>(args[1]), *y = fresh<float>(args[2], {2, 2});
                  for (int i = 0; i < 4; ++i) {
                    EXPECT_EQ(x[i], (float)(i / 2 * 2 * n + rank * 2 + i % 2));
                    y[i] = x[i];
                  }
                },
                {2 * n}, {in}, &out),
            "");
  pmap_rt_move_to_host(&site, out[0], y.pointer(), 1);
  EXPECT_EQ(y.sizes(), x.sizes());
  EXPECT_EQ(y.values(), x.values());
  pmap_rt_dist_release(in);
}

TEST_P(Map, BlocksConcatenateAlongAnotherDimension) {
  // F13: rows go in, columns come out.
  int64_t n = GetParam();
  Packed<float> x({n, 2}, counting<float>(2 * n)), y(2);
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [a,_];", x.pointer(), 0);
  std::vector<pmap_dist *> out(1);
  ASSERT_EQ(runMap(
                "mesh a=-1; size a; in f32 [a,_]; out f32 [_,a];",
                [](void **args) {
                  float *y = fresh<float>(args[2], {1, 2});
                  memcpy(y, dataOf<float>(args[1]), 8);
                },
                {n}, {in}, &out),
            "");
  pmap_rt_move_to_host(&site, out[0], y.pointer(), 1);
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{1, 2 * n}));
  EXPECT_EQ(y.values(), counting<float>(2 * n));
  pmap_rt_dist_release(in);
}

TEST_P(Map, ManyMapsInARow) {
  Packed<float> x({64}, counting<float>(64));
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=-1; in f32 [a];", x.pointer(), 0);
  for (int i = 0; i < 2000; ++i) {
    std::vector<pmap_dist *> out(1);
    ASSERT_EQ(runMap(ragged, twice, {64}, {in}, &out), "");
    pmap_rt_dist_release(out[0]);
  }
  pmap_rt_dist_release(in);
}

TEST_P(Map, ShardsAndBack) {
  int count = GetParam();
  std::vector<std::unique_ptr<Packed<float>>> blocks;
  std::vector<const void *> pointers;
  for (int i = 0; i < count; ++i) {
    blocks.push_back(std::make_unique<Packed<float>>(std::vector<int64_t>{2, 3}, std::vector<float>(6, (float)i)));
    pointers.push_back(blocks.back()->pointer());
  }
  std::string layout = "mesh a=" + std::to_string(count) + "; in f32 [a,_];";
  pmap_dist *value = pmap_rt_shards(&site, layout.c_str(), count, pointers.data(), 0);
  EXPECT_EQ(moved(), 0);
  std::vector<std::unique_ptr<Packed<float>>> back;
  std::vector<void *> results;
  for (int i = 0; i < count; ++i) {
    back.push_back(std::make_unique<Packed<float>>(2));
    results.push_back(back.back()->pointer());
  }
  pmap_rt_to_shards(&site, value, count, results.data());
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(back[(size_t)i]->values(), std::vector<float>(6, (float)i));
  Packed<float> whole(2);
  pmap_rt_move_to_host(&site, value, whole.pointer(), 1);
  EXPECT_EQ(whole.sizes(), (std::vector<int64_t>{2 * count, 3}));
}

TEST_P(Map, ShardsOfOtherSizesAreEvenedOut) {
  if (GetParam() < 2)
    return;
  Packed<float> a({1}, {0}), b({4}, {1, 2, 3, 4});
  const void *blocks[] = {a.pointer(), b.pointer()};
  pmap_dist *value = pmap_rt_shards(&site, "mesh a=2; in f32 [a];", 2, blocks, 0);
  EXPECT_EQ(moved(), 20);
  Packed<float> whole(1);
  pmap_rt_move_to_host(&site, value, whole.pointer(), 1);
  EXPECT_EQ(whole.values(), counting<float>(5));
}

TEST_P(Map, ShardsThatDifferElsewhere) {
  if (GetParam() < 2)
    return;
  Packed<float> a({1, 2}, {0, 1}), b({1, 3}, {1, 2, 3});
  const void *blocks[] = {a.pointer(), b.pointer()};
  std::string message = launch([&] { pmap_rt_shards(&site, "mesh a=2; in f32 [a,_];", 2, blocks, 0); });
  EXPECT_NE(
      message.find("blocks differ off the split dimension: block 0 has size 2 in dimension 1, block 1 has 3 [E1122]"),
      std::string::npos)
      << message;
}

TEST_P(Map, AFailureOnOneDevice) {
  static constexpr pmap_site at{"body.pmap", 2, 1, nullptr};
  // The lowest failing rank is reported, whatever the timing.
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::string message = runMap("mesh a=-1;", [](void **) {
      if (pmap_rt_axis_index(0) >= pmap_rt_axis_size(0) / 2)
        pmap_rt_fail(&at, PMAP_FAIL_INDEX, pmap_rt_axis_index(0), 0, 0);
    });
    std::string lowest = std::to_string(GetParam() / 2);
    ASSERT_EQ(message, "body.pmap:2:1: error: index " + lowest +
                           " is out of range for dimension 0 of size 0 [E1101]\n" +
                           (GetParam() > 1 ? "note: on device " + lowest + "\n" : ""));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Map, testing::Values(1, 2, 3, 8));

TEST(Mesh, MustFitTheDevices) {
  pmap_rt_start(3, 0);
  EXPECT_EQ(runMap("mesh a=2 b=-1;", [](void **) {}),
            "test.pmap:7:3: error: mesh (a: 2, b: _) needs a multiple of 2 devices, the program has 3 [E1121]\n"
            "note: run with --devices 4\n");
  EXPECT_EQ(runMap("mesh a=4;", [](void **) {}),
            "test.pmap:7:3: error: mesh (a: 4) needs 4 devices, the program has 3 [E1121]\n"
            "note: run with --devices 4\n");
  EXPECT_EQ(runMap("mesh a=2;", [](void **) {}), "");
  pmap_rt_stop();
}

TEST(Mesh, TwoAxesAreRowMajor) {
  pmap_rt_start(6, 0);
  Packed<int32_t> y(2);
  std::vector<pmap_dist *> out(1);
  ASSERT_EQ(runMap(
                "mesh a=2 b=-1; out i32 [a,b];",
                [](void **args) {
                  *fresh<int32_t>(args[0], {1, 1}) = (int32_t)(10 * pmap_rt_axis_index(0) + pmap_rt_axis_index(1));
                },
                {}, {}, &out),
            "");
  pmap_rt_move_to_host(&site, out[0], y.pointer(), 1);
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(y.values(), (std::vector<int32_t>{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(pmap_rt_mesh_axis_size(&site, "mesh a=2 b=-1;", 1), 3);
  pmap_rt_stop();
}

TEST(Mesh, OneDimensionOverTwoAxes) {
  pmap_rt_start(4, 0);
  Packed<int32_t> x({8}, counting<int32_t>(8));
  pmap_dist *in = pmap_rt_move_to_dist(&site, "mesh a=2 b=2; in i32 [b+a];", x.pointer(), 0);
  ASSERT_EQ(runMap("mesh a=2 b=2; size b+a; in i32 [b+a];",
                   [](void **args) {
                     EXPECT_EQ(*(int64_t *)args[0], 2);
                     EXPECT_EQ(dataOf<int32_t>(args[1])[0], 2 * (2 * pmap_rt_axis_index(1) + pmap_rt_axis_index(0)));
                   },
                   {8}, {in}),
            "");
  // The other order of axes is another split: it moves, or rather is seen anew.
  pmap_dist *other = pmap_rt_move_dist(&site, "mesh a=2 b=2; in i32 [a+b];", in);
  EXPECT_NE(other, in);
  pmap_dist *same = pmap_rt_move_dist(&site, "mesh a=2 b=2; in i32 [b+a];", in);
  EXPECT_EQ(same, in);
  for (pmap_dist *value : {in, other, same})
    pmap_rt_dist_release(value);
  pmap_rt_stop();
}

} // namespace
