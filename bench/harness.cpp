// Times a compiled program's entry inside one process, beside the machine's own rates on the same threads.
//
// bench/run.py links this with the object of a program (`pmapc build --emit obj`) and the runtime, starts it, and sends
// one command per line; each is answered by the seconds it took. So run.py can interleave them with peers of its own.
//
//   harness DEVICES THREADS [in:DTYPE:AxB... | all:ARCHIVE.npz]
//
// `in:` is one array of random numbers, `all:` takes every leaf of the entry's parameters from an archive, by its name.
//
//   run            the entry, once; its results are given back
//   copy BYTES     memcpy of BYTES to another array, in slices on the device's threads
//   stream BYTES   the same with non-temporal stores
//   psum BYTES     psum of BYTES of f32 per device, over all devices
#include "pmap/program.h"
#include "runtime/io/Files.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

/// The table of the program's object; absent where only the runtime is measured.
extern "C" __attribute__((weak)) const pmap_program pmap_programs[];

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

//===-- The program --------------------------------------------------------------------------------------------------//

/// One packed argument or result: a descriptor of up to 8 dimensions, or a scalar in its first bytes.
struct Slot {
  int64_t words[3 + 16] = {};
  int rank = 0; ///< Of a result.
};

std::vector<Slot> arguments, results;

/// An array of an input, in large pages as the arrays that a program makes (and those of the peers): with small ones
/// the time of a kernel that only reads is that of the page tables.
char *inputBuffer(int64_t bytes) {
  constexpr int64_t page = 2 << 20;
  int64_t span = (bytes + page - 1) / page * page;
  auto *buffer = static_cast<char *>(std::aligned_alloc(page, std::max(span, page)));
  madvise(buffer, span, MADV_HUGEPAGE);
  pmap_rt_mark_foreign(buffer, bytes);
  return buffer;
}

void describe(Slot &slot, const std::vector<int64_t> &sizes) {
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) {
    slot.words[3 + d] = sizes[d];
    slot.words[3 + sizes.size() + d] = stride;
  }
}

void addInput(const std::string &dtype, const std::string &shape) {
  Slot &slot = arguments.emplace_back();
  std::vector<int64_t> sizes;
  for (size_t at = 0; at < shape.size();) {
    size_t next = std::min(shape.find('x', at), shape.size());
    sizes.push_back(std::stoll(shape.substr(at, next - at)));
    at = next + 1;
  }
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  int64_t width = pmap_dtype_bytes(pmap_dtype_from_name(dtype.c_str()));
  char *begin = inputBuffer(count * width);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    float value = normal(generator);
    double wide = value;
    std::memcpy(begin + i * width, width == 8 ? static_cast<void *>(&wide) : &value, width);
  }
  slot.words[0] = slot.words[1] = reinterpret_cast<int64_t>(begin);
  describe(slot, sizes);
}

/// Every leaf from an archive.
void addArchive(const std::string &path) {
  pmap::rt::Archive archive;
  pmap::rt::Problem problem = archive.open(path);
  const pmap_signature &signature = *pmap_programs[0].signature;
  for (int i = 0; i < signature.parameter_count && !problem; ++i) {
    pmap::rt::HostArray array;
    problem = archive.read(signature.parameters[i].name, array);
    if (problem)
      break;
    Slot &slot = arguments.emplace_back();
    if (array.sizes.empty()) {
      std::memcpy(slot.words, array.data, pmap_dtype_bytes(array.dtype));
      continue;
    }
    int64_t bytes = pmap_dtype_bytes(array.dtype);
    for (int64_t size : array.sizes)
      bytes *= size;
    char *begin = inputBuffer(bytes);
    std::memcpy(begin, array.data, bytes);
    slot.words[0] = slot.words[1] = reinterpret_cast<int64_t>(begin);
    describe(slot, array.sizes);
  }
  if (problem) {
    std::fputs(problem.render().c_str(), stderr);
    std::exit(2);
  }
}

/// Puts the values of the size symbols in front of the arguments, and makes places for the results.
void completeSlots() {
  const pmap_signature &signature = *pmap_programs[0].signature;
  std::vector<Slot> symbols;
  for (int s = 0; s < signature.symbol_count; ++s) {
    Slot &slot = symbols.emplace_back();
    for (int i = 0; i < signature.parameter_count; ++i)
      for (int d = 0; d < signature.parameters[i].rank; ++d)
        if (std::string(signature.parameters[i].sizes[d]) == signature.symbols[s])
          slot.words[0] = arguments[i].words[3 + d];
  }
  arguments.insert(arguments.begin(), std::make_move_iterator(symbols.begin()), std::make_move_iterator(symbols.end()));
  for (int i = 0; i < signature.result_count; ++i)
    results.emplace_back().rank = signature.results[i].rank;
}

double timeProgram() {
  std::vector<void *> pointers;
  for (Slot &slot : arguments)
    pointers.push_back(slot.words);
  for (Slot &slot : results)
    pointers.push_back(slot.words);
  Clock::time_point start = Clock::now();
  if (pmap_rt_call(pmap_programs[0].entry, pointers.data()) != 0) {
    std::fputs(pmap_rt_error_message(), stderr);
    std::exit(1);
  }
  double seconds = secondsSince(start);
  // A scalar is no buffer.
  for (Slot &slot : results)
    if (slot.rank > 0)
      pmap_rt_free(reinterpret_cast<void *>(slot.words[0]));
  return seconds;
}

//===-- The machine's own rates --------------------------------------------------------------------------------------//

struct CopyJob {
  char *to;
  const char *from;
};

void copySlice(void *closure, int64_t low, int64_t high) {
  auto *job = static_cast<CopyJob *>(closure);
  std::memcpy(job->to + low, job->from + low, high - low);
}

typedef float Vector __attribute__((vector_size(32)));

void streamSlice(void *closure, int64_t low, int64_t high) {
  auto *job = static_cast<CopyJob *>(closure);
  auto *to = reinterpret_cast<Vector *>(job->to + low);
  auto *from = reinterpret_cast<const Vector *>(job->from + low);
  for (int64_t i = 0; i < (high - low) / int64_t(sizeof(Vector)); ++i)
    __builtin_nontemporal_store(from[i], to + i);
  __asm__ volatile("sfence" ::: "memory");
}

double timeCopy(int64_t bytes, bool stream) {
  static std::vector<char *> buffers;
  static int64_t allocated = 0;
  if (allocated < bytes) {
    for (char *buffer : buffers)
      std::free(buffer);
    buffers.clear();
    for (int i = 0; i < 2; ++i) {
      buffers.push_back(static_cast<char *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
      std::memset(buffers.back(), i + 1, bytes);
    }
    allocated = bytes;
  }
  CopyJob job = {buffers[0], buffers[1]};
  // One slice for each thread.
  int64_t threads = pmap_rt_threads();
  int64_t grain = ((bytes + threads - 1) / threads + 63) / 64 * 64;
  Clock::time_point start = Clock::now();
  pmap_rt_parallel_for(stream ? streamSlice : copySlice, &job, bytes, grain);
  return secondsSince(start);
}

//===-- psum ---------------------------------------------------------------------------------------------------------//

int64_t psumBytes;
std::vector<float *> psumInputs, psumOutputs;
std::vector<double> psumSeconds;
const pmap_site psumSite = {"psum", 0, 0, nullptr};
/// All devices along the one axis (runtime.h).
const int32_t among[] = {1, 0, 0};

void psumBody(void **) {
  int64_t device = pmap_rt_axis_index(0), count = psumBytes / sizeof(float), one = 1;
  if (!psumInputs[device]) {
    psumInputs[device] = static_cast<float *>(pmap_rt_alloc(psumBytes));
    psumOutputs[device] = static_cast<float *>(pmap_rt_alloc(psumBytes));
    for (int64_t i = 0; i < count; ++i)
      psumInputs[device][i] = psumOutputs[device][i] = float(i % 1000);
  }
  // A small one first, so that all devices start together.
  float word = 1;
  const void *in = &word;
  void *out = &word;
  pmap_rt_all_reduce(&psumSite, among, PMAP_REDUCE_SUM, PMAP_f32, 1, &in, &out, &one);
  Clock::time_point start = Clock::now();
  in = psumInputs[device];
  out = psumOutputs[device];
  pmap_rt_all_reduce(&psumSite, among, PMAP_REDUCE_SUM, PMAP_f32, 1, &in, &out, &count);
  psumSeconds[device] = secondsSince(start);
}

void psumEntry(void **) {
  static const pmap_map_desc map = {&psumSite, psumBody, "mesh a=-1;"};
  pmap_rt_map(&map, nullptr, nullptr, nullptr);
}

double timePsum(int64_t bytes) {
  int64_t devices = pmap_rt_num_devices();
  psumBytes = bytes;
  psumInputs.resize(devices);
  psumOutputs.resize(devices);
  psumSeconds.assign(devices, 0);
  if (pmap_rt_call(psumEntry, nullptr) != 0) {
    std::fputs(pmap_rt_error_message(), stderr);
    std::exit(1);
  }
  return *std::max_element(psumSeconds.begin(), psumSeconds.end());
}

} // namespace

int main(int argc, char **argv) {
  pmap_rt_start(std::atoi(argv[1]), std::atoi(argv[2]));
  for (int i = 3; i < argc; ++i) {
    std::string text = argv[i];
    size_t first = text.find(':'), second = text.find(':', first + 1);
    if (text.substr(0, first) == "in")
      addInput(text.substr(first + 1, second - first - 1), text.substr(second + 1));
    else
      addArchive(text.substr(first + 1));
  }
  if (pmap_programs)
    completeSlots();
  char command[32];
  for (long long bytes = 0; std::scanf("%31s %lld", command, &bytes) >= 1;) {
    std::string name = command;
    double seconds = name == "run"      ? timeProgram()
                     : name == "copy"   ? timeCopy(bytes, false)
                     : name == "stream" ? timeCopy(bytes, true)
                     : name == "psum"   ? timePsum(bytes)
                                        : -1;
    std::printf("%.9f\n", seconds);
    std::fflush(stdout);
  }
  pmap_rt_stop();
}
