// The arena: alignment, reuse, counters, and that it never holds twice what was freed.

#include "test/runtime/Arrays.h"

#include <thread>

using namespace pmap::test;

namespace {

pmap_stats stats() {
  pmap_stats result;
  pmap_rt_get_stats(&result);
  return result;
}

TEST(Memory, BuffersAreAligned) {
  for (int64_t bytes : {0, 1, 63, 64, 65, 1000, 65536, 65537, 1 << 20, 5 << 20}) {
    void *buffer = pmap_rt_alloc(bytes);
    EXPECT_EQ((uintptr_t)buffer % 64, 0u) << bytes;
    memset(buffer, 1, (size_t)bytes);
    pmap_rt_free(buffer);
  }
}

TEST(Memory, EmptyBuffersDiffer) {
  void *a = pmap_rt_alloc(0), *b = pmap_rt_alloc(0);
  EXPECT_NE(a, b);
  pmap_rt_free(a);
  pmap_rt_free(b);
}

TEST(Memory, NullAndConstantsAreIgnored) {
  pmap_rt_free(nullptr);
  pmap_rt_retain(nullptr);
  pmap_rt_free((void *)0xdeadbeef);
  pmap_rt_retain((void *)0xdeadbeef);
}

TEST(Memory, RetainKeeps) {
  int64_t before = stats().live_bytes;
  void *buffer = pmap_rt_alloc(100);
  pmap_rt_retain(buffer);
  pmap_rt_free(buffer);
  EXPECT_GT(stats().live_bytes, before);
  pmap_rt_free(buffer);
  EXPECT_EQ(stats().live_bytes, before);
}

TEST(Memory, ForeignMemoryIsLeftAlone) {
  alignas(64) static char memory[256];
  pmap_rt_mark_foreign(memory, sizeof(memory));
  pmap_rt_free(memory + 128);
  pmap_rt_retain(memory);
  pmap_rt_mark_foreign(memory, 0);
}

TEST(Memory, PeakCountsWhatLivesAtOnce) {
  pmap_rt_reset_stats();
  int64_t base = stats().peak_bytes;
  for (int i = 0; i < 10; ++i)
    pmap_rt_free(pmap_rt_alloc(8 << 20));
  int64_t peak = stats().peak_bytes - base;
  EXPECT_GE(peak, 8 << 20);
  EXPECT_LT(peak, 9 << 20);
}

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
TEST(Memory, LargeBuffersAreReused) {
  void *first = pmap_rt_alloc(10 << 20);
  pmap_rt_free(first);
  void *second = pmap_rt_alloc(10 << 20);
  EXPECT_EQ(first, second);
  pmap_rt_free(second);
}

TEST(Memory, AFailedLaunchGivesBackWhatItMade) {
  void *kept[2];
  ASSERT_EQ(launch([&] {
              kept[0] = pmap_rt_alloc(100);
              kept[1] = pmap_rt_alloc(1 << 20);
            }),
            "");
  int64_t before = stats().live_bytes;
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::string message = launch([] {
      pmap_rt_free(pmap_rt_alloc(200));
      for (int i = 0; i < 1000; ++i)
        pmap_rt_alloc(i * 200);
      pmap_rt_fail(nullptr, PMAP_FAIL_ASSERT, 0, 0, 0);
    });
    EXPECT_NE(message, "");
    EXPECT_EQ(stats().live_bytes, before);
  }
  pmap_rt_free(kept[0]);
  pmap_rt_free(kept[1]);
}

TEST(Memory, HoldsNearThePeakOnly) {
  pmap_rt_stop();
  pmap_rt_reset_stats();
  // Growing sizes fit none of the blocks freed before.
  for (int64_t mib = 64; mib <= 256; mib += 16)
    pmap_rt_free(pmap_rt_alloc(mib << 20));
  EXPECT_LT(stats().held_bytes, (int64_t)(256 * 1.25 + 40) << 20);
  pmap_rt_stop();
  EXPECT_LT(stats().held_bytes, (int64_t)32 << 20);
}
#endif

TEST(Memory, ThreadsAllocateAndFreeForEachOther) {
  std::vector<std::thread> threads;
  std::vector<void *> buffers(4 * 500);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        buffers[(size_t)(t * 500 + i)] = pmap_rt_alloc(16 + i * 300);
        memset(buffers[(size_t)(t * 500 + i)], t, 16);
      }
    });
  for (auto &thread : threads)
    thread.join();
  threads.clear();
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i)
        pmap_rt_free(buffers[(size_t)((3 - t) * 500 + i)]);
    });
  for (auto &thread : threads)
    thread.join();
}

TEST(Memory, TooMuchIsAnError) {
  std::string message = launch([] { pmap_rt_alloc((int64_t)1 << 60); });
  EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
  EXPECT_NE(message.find("[E1115]"), std::string::npos) << message;
}

} // namespace
