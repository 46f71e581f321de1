// How fast the runtime's own operations are, each beside what the machine allows: reductions between devices beside a
// copy with non-temporal stores on the same threads, and the cost of starting maps, loops and small collectives.
// Medians of interleaved runs. Usage: collectives-bench [DEVICES] [MIB]

#include "pmap/runtime.h"
#include "runtime/core/Wait.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace pmap::rt;

namespace {

constexpr int runs = 20;
constexpr pmap_site site{"collectives.cpp", 0, 0, nullptr};
/// All devices along the one axis (runtime.h).
constexpr int32_t among[] = {1, 0, 0};

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

typedef uint64_t Line __attribute__((ext_vector_type(8), aligned(64)));

/// Copies with stores past the caches: every byte is read once and written once.
void streamCopy(char *to, const char *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64)
    __builtin_nontemporal_store(*(const Line *)(from + i), (Line *)(to + i));
}

struct Buffers {
  std::vector<float *> in, out;
  int64_t n = 0;
} buffers;

/// The body of every device: both sides of the comparison run on the devices' own threads.
void copyBody(void **) {
  int64_t rank = pmap_rt_axis_index(0);
  streamCopy((char *)buffers.out[(size_t)rank], (const char *)buffers.in[(size_t)rank], buffers.n * 4);
}

void sumBody(void **) {
  int64_t rank = pmap_rt_axis_index(0);
  const void *in[] = {buffers.in[(size_t)rank]};
  void *out[] = {buffers.out[(size_t)rank]};
  pmap_rt_all_reduce(&site, among, PMAP_REDUCE_SUM, PMAP_f32, 1, in, out, &buffers.n);
}

int64_t repeats, smallElements;
double seconds;

void smallBody(void **) {
  float x[1024] = {};
  const void *in[] = {x};
  void *out[] = {x};
  double begin = now();
  for (int64_t i = 0; i < repeats; ++i)
    pmap_rt_all_reduce(&site, among, PMAP_REDUCE_SUM, PMAP_f32, 1, in, out, &smallElements);
  if (pmap_rt_axis_index(0) == 0)
    seconds = (now() - begin) / (double)repeats;
}

double map(pmap_packed body) {
  pmap_map_desc desc{&site, body, "mesh a=-1;"};
  double begin = now();
  void *args[] = {&desc};
  if (pmap_rt_call([](void **args) { pmap_rt_map((const pmap_map_desc *)args[0], nullptr, nullptr, nullptr); }, args)) {
    fputs(pmap_rt_error_message(), stderr);
    exit(1);
  }
  return now() - begin;
}

} // namespace

int main(int argc, char **argv) {
  int devices = argc > 1 ? atoi(argv[1]) : 2;
  int64_t mib = argc > 2 ? atoll(argv[2]) : 64;
  pmap_rt_start(devices, 0);
  buffers.n = mib << 18;
  for (int i = 0; i < devices; ++i) {
    buffers.in.push_back((float *)pmap_rt_alloc(buffers.n * 4));
    buffers.out.push_back((float *)pmap_rt_alloc(buffers.n * 4));
    for (int64_t k = 0; k < buffers.n; ++k)
      buffers.in.back()[k] = (float)(k % 1000) * (float)(i + 1);
    memset(buffers.out.back(), 0, (size_t)buffers.n * 4);
  }
  std::vector<double> copies, sums;
  for (int run = 0; run <= runs; ++run) {
    double copy = map(copyBody), sum = map(sumBody);
    if (run == 0)
      continue; // Warm-up.
    copies.push_back(copy);
    sums.push_back(sum);
  }
  for (int64_t k = 0; k < buffers.n; ++k)
    if (buffers.out[0][k] != (float)(k % 1000) * (float)(devices * (devices + 1) / 2)) {
      fprintf(stderr, "wrong sum\n");
      return 1;
    }
  // Both move every device's input and output once.
  double bytes = 8.0 * (double)buffers.n * devices, copyRate = bytes / median(copies), sumRate = bytes / median(sums);
  printf("psum of %lld MiB f32 on %d devices: %.1f GB/s, non-temporal copy %.1f GB/s, %.0f %% (wanted: 85)\n",
         (long long)mib, devices, sumRate / 1e9, copyRate / 1e9, 100 * sumRate / copyRate);

  repeats = 20000;
  for (int64_t elements : {1, 1024}) {
    smallElements = elements;
    std::vector<double> times;
    for (int run = 0; run < runs; ++run) {
      map(smallBody);
      times.push_back(seconds);
    }
    printf("psum of %lld bytes on %d devices: %.2f us (wanted: 5)\n", (long long)elements * 4, devices,
           median(times) * 1e6);
  }

  std::vector<double> starts;
  for (int run = 0; run < 2000; ++run)
    starts.push_back(map([](void **) {}));
  printf("map of nothing on %d devices: %.2f us\n", devices, median(starts) * 1e6);

  pmap_rt_start(1, 0);
  std::vector<double> loops;
  for (int run = 0; run < 2000; ++run) {
    double begin = now();
    pmap_rt_parallel_for([](void *, int64_t, int64_t) {}, nullptr, 64, 1);
    loops.push_back(now() - begin);
  }
  printf("parallel loop of nothing on %lld threads: %.2f us\n", (long long)pmap_rt_threads(), median(loops) * 1e6);
  return 0;
}
