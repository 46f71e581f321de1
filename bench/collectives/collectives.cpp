// How fast the collectives are, each beside what the machine allows: a copy with non-temporal stores of the same arrays
// by the same threads. And what it costs to start a map and a loop.
//
//   collectives-bench [DEVICES] [MIB]            a table, arrays of 1 KiB to MIB MiB (default 2 and 256)
//   collectives-bench [DEVICES] [MIB] --rows     `operation bytes microseconds`, for bench/beside_mpi.py
//
// A size is that of every device's operand. Every result is checked. Times are medians; of one collective, the time is
// that of its last device.

#include "pmap/runtime.h"
#include "runtime/core/Wait.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace pmap::rt;

namespace {

constexpr pmap_site site{"collectives.cpp", 0, 0, nullptr};
/// All devices along the one axis (runtime.h).
constexpr int32_t among[] = {1, 0, 0};

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

//===--- The operations -------------------------------------------------------------------------------------------===//

/// A device's operand and result.
struct Arrays {
  float *in, *out;
};

int64_t devices, elements; // of every operand
std::vector<Arrays> arrays;

float operand(int64_t rank, int64_t i) { return (float)((i * 7 + rank * 3) % 1000); }

typedef uint64_t Line __attribute__((ext_vector_type(8), aligned(64)));

/// Copies with stores past the caches: every byte is read once and written once.
void streamCopy(char *to, const char *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64)
    __builtin_nontemporal_store(*(const Line *)(from + i), (Line *)(to + i));
}

struct Operation {
  const char *name;
  void (*run)(const Arrays &);
  /// Element i of the result on a device, and how many there are.
  float (*result)(int64_t rank, int64_t i);
  int64_t (*results)();
  /// Bytes that all devices read and write, at least: an operand is read once for each device that needs it.
  double (*traffic)(double bytes);
};

float sumAt(int64_t i) {
  float sum = operand(0, i);
  for (int64_t r = 1; r < devices; ++r)
    sum += operand(r, i);
  return sum;
}

const Operation operations[] = {
    {"copy", [](const Arrays &a) { streamCopy((char *)a.out, (const char *)a.in, elements * 4); },
     [](int64_t rank, int64_t i) { return operand(rank, i); }, [] { return elements; },
     [](double bytes) { return 2 * bytes * (double)devices; }},
    {"psum",
     [](const Arrays &a) {
       const void *in[] = {a.in};
       void *out[] = {a.out};
       pmap_rt_all_reduce(&site, among, PMAP_REDUCE_SUM, PMAP_f32, 1, in, out, &elements);
     },
     [](int64_t, int64_t i) { return sumAt(i); }, [] { return elements; },
     [](double bytes) { return 2 * bytes * (double)devices; }},
    {"all_gather", [](const Arrays &a) { pmap_rt_all_gather(&site, among, 1, elements * 4, a.in, a.out); },
     [](int64_t, int64_t i) { return operand(i / elements, i % elements); }, [] { return elements * devices; },
     [](double bytes) { return 2 * bytes * (double)(devices * devices); }},
    {"psum_scatter",
     [](const Arrays &a) { pmap_rt_reduce_scatter(&site, among, PMAP_f32, 1, elements / devices, a.in, a.out); },
     [](int64_t rank, int64_t i) { return sumAt(rank * (elements / devices) + i); }, [] { return elements / devices; },
     [](double bytes) { return bytes * (double)(devices + 1); }},
    {"all_to_all",
     [](const Arrays &a) {
       struct {
         void *allocated, *aligned;
         int64_t offset, size, stride;
       } in{a.in, a.in, 0, elements, 1};
       pmap_rt_all_to_all(&site, among, 4, 1, 0, 0, (const pmap_array *)&in, a.out);
     },
     [](int64_t rank, int64_t i) {
       int64_t piece = elements / devices;
       return operand(i / piece, rank * piece + i % piece);
     },
     [] { return elements; }, [](double bytes) { return 2 * bytes * (double)devices; }},
    {"ppermute",
     [](const Arrays &a) {
       static const std::vector<int32_t> *ring = [] {
         auto *table = new std::vector<int32_t>((size_t)devices);
         for (int64_t i = 0; i < devices; ++i)
           (*table)[(size_t)i] = (int32_t)((i + 1) % devices);
         return table;
       }();
       float fill = 0;
       const void *in[] = {a.in, ring->data(), &fill};
       int64_t n[] = {elements, devices, 1};
       pmap_rt_send(&site, among, 4, 3, in, a.out, n);
     },
     [](int64_t rank, int64_t i) { return operand((rank + devices - 1) % devices, i); }, [] { return elements; },
     [](double bytes) { return 2 * bytes * (double)devices; }},
};

//===--- Timing ---------------------------------------------------------------------------------------------------===//

const Operation *current;
int64_t repeats;
std::vector<double> seconds; // of each device

/// The body of every device. One small collective first, so that all begin together; small ones are repeated.
void body(void **) {
  int64_t rank = pmap_rt_axis_index(0), one = 1;
  float word = 1;
  const void *in[] = {&word};
  void *out[] = {&word};
  pmap_rt_all_reduce(&site, among, PMAP_REDUCE_SUM, PMAP_f32, 1, in, out, &one);
  double begin = now();
  for (int64_t i = 0; i < repeats; ++i)
    current->run(arrays[(size_t)rank]);
  seconds[(size_t)rank] = (now() - begin) / (double)repeats;
}

double run(pmap_packed body) {
  pmap_map_desc desc{&site, body, "mesh a=-1;"};
  double begin = now();
  void *args[] = {&desc};
  if (pmap_rt_call([](void **args) { pmap_rt_map((const pmap_map_desc *)args[0], nullptr, nullptr, nullptr); }, args)) {
    fputs(pmap_rt_error_message(), stderr);
    exit(1);
  }
  return now() - begin;
}

double once(const Operation &operation) {
  current = &operation;
  repeats = std::max<int64_t>(1, (256 << 10) / (elements * 4)) * (elements * 4 <= 4096 ? 16 : 1);
  run(body);
  return *std::max_element(seconds.begin(), seconds.end());
}

bool check(const Operation &operation) {
  int64_t count = operation.results(), step = std::max<int64_t>(1, count / 4096) | 1;
  for (int64_t rank = 0; rank < devices; ++rank)
    for (int64_t i = 0; i < count; i += step)
      if (arrays[(size_t)rank].out[i] != operation.result(rank, i)) {
        fprintf(stderr, "%s of %lld elements on %lld devices: element %lld on device %lld is %g, expected %g\n",
                operation.name, (long long)elements, (long long)devices, (long long)i, (long long)rank,
                (double)arrays[(size_t)rank].out[i], (double)operation.result(rank, i));
        return false;
      }
  return true;
}

bool measure(bool rows) {
  for (int64_t rank = 0; rank < devices; ++rank)
    for (int64_t i = 0; i < elements; ++i)
      arrays[(size_t)rank].in[i] = operand(rank, i);
  int runs = elements * 4 >= 64 << 20 ? 7 : 21;
  std::vector<std::vector<double>> times(std::size(operations));
  // Interleaved, so that a slow moment of the machine hits all alike; the first round warms up.
  for (int round = 0; round <= runs; ++round)
    for (size_t k = 0; k < std::size(operations); ++k) {
      double time = once(operations[k]);
      if (round == 0 && !check(operations[k]))
        return false;
      if (round > 0)
        times[k].push_back(time);
    }
  double bytes = (double)elements * 4, copyRate = operations[0].traffic(bytes) / median(times[0]);
  for (size_t k = 0; k < std::size(operations); ++k) {
    double time = median(times[k]), rate = operations[k].traffic(bytes) / time;
    if (rows)
      printf("%s %lld %.3f\n", operations[k].name, (long long)(elements * 4), time * 1e6);
    else
      printf("%-12s %10lld bytes  %12.2f us  %7.2f GB/s  %4.0f %% of a copy\n", operations[k].name,
             (long long)(elements * 4), time * 1e6, rate / 1e9, 100 * rate / copyRate);
  }
  fflush(stdout);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  bool rows = argc > 1 && !strcmp(argv[argc - 1], "--rows");
  argc -= rows;
  devices = argc > 1 ? atoi(argv[1]) : 2;
  int64_t mib = argc > 2 ? atoll(argv[2]) : 256;
  pmap_rt_start((int32_t)devices, 0);
  seconds.resize((size_t)devices);
  // Sizes that 2, 3, 4 and 8 devices divide, of whole cache lines for each.
  int64_t unit = devices % 3 == 0 ? 3 : 1;
  for (int64_t i = 0; i < devices; ++i) {
    arrays.push_back({(float *)pmap_rt_alloc(mib * unit << 20), (float *)pmap_rt_alloc(mib * unit * devices << 20)});
    memset(arrays.back().out, 0, (size_t)(mib * unit * devices) << 20);
  }
  for (int64_t bytes = 1024; bytes <= mib << 20; bytes *= 4) {
    elements = bytes * unit / 4;
    if (!measure(rows))
      return 1;
  }
  if (rows)
    return 0;
  std::vector<double> starts, loops;
  for (int i = 0; i < 2000; ++i)
    starts.push_back(run([](void **) {}));
  printf("map of nothing on %lld devices: %.2f us\n", (long long)devices, median(starts) * 1e6);
  pmap_rt_start(1, 0);
  for (int i = 0; i < 2000; ++i) {
    double begin = now();
    pmap_rt_parallel_for([](void *, int64_t, int64_t) {}, nullptr, 64, 1);
    loops.push_back(now() - begin);
  }
  printf("parallel loop of nothing on %lld threads: %.2f us\n", (long long)pmap_rt_threads(), median(loops) * 1e6);
  return 0;
}
