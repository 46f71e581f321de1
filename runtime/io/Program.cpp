// The whole `main` of a program.

#include "pmap/program.h"
#include "runtime/core/Context.h"
#include "runtime/core/Wait.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Files.h"
#include "runtime/io/Format.h"
#include "runtime/io/Inputs.h"
#include "runtime/io/Options.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pmap::rt;

namespace {

/// After a failure the other devices get this long to stop by themselves.
constexpr double patience = 0.4;

int report(const std::vector<Problem> &problems) {
  fflush(stdout);
  for (const Problem &problem : problems)
    fputs(problem.render().c_str(), stderr);
  return 2;
}

/// Storage of a packed array: the descriptor, or a scalar's 8 bytes.
std::vector<int64_t> packedStorage(int32_t rank) { return std::vector<int64_t>(rank ? 3 + 2 * (size_t)rank : 1, 0); }

/// The entry's arguments and results in packed form.
class Call {
public:
  Call(const pmap_signature &signature, std::vector<Input> &inputs, const Symbols &symbols) : signature(signature) {
    for (int32_t i = 0; i < signature.symbol_count; ++i)
      sizes.push_back(symbols.find(signature.symbols[i])->second);
    for (int64_t &size : sizes)
      args.push_back(&size);
    for (Input &input : inputs) {
      HostArray &array = input.array;
      if (array.sizes.empty()) {
        args.push_back(array.data);
        continue;
      }
      size_t rank = array.sizes.size();
      packed.push_back(packedStorage((int32_t)rank));
      int64_t *words = packed.back().data();
      words[0] = (int64_t)array.owner;
      words[1] = (int64_t)array.data;
      int64_t stride = 1;
      for (size_t d = rank; d-- > 0;) {
        words[3 + d] = array.sizes[d];
        words[3 + rank + d] = stride;
        stride *= array.sizes[d];
      }
      args.push_back(words);
    }
    firstResult = args.size();
    for (int32_t i = 0; i < signature.result_count; ++i) {
      packed.push_back(packedStorage(signature.results[i].rank));
      args.push_back(packed.back().data());
    }
  }

  void **arguments() { return args.data(); }

  /// The results as named dense arrays.
  std::vector<NamedArray> results() {
    std::vector<NamedArray> list;
    for (int32_t i = 0; i < signature.result_count; ++i) {
      const pmap_leaf &leaf = signature.results[i];
      NamedArray array{leaf.name, leaf.dtype, {}, args[firstResult + (size_t)i]};
      if (leaf.rank > 0) {
        auto *words = (const int64_t *)array.data;
        array.sizes.assign(words + 3, words + 3 + leaf.rank);
        array.data = (const char *)words[1] + words[2] * pmap_dtype_bytes(leaf.dtype);
        makeDense(array, words + 3 + leaf.rank);
      }
      list.push_back(array);
    }
    return list;
  }

  /// Frees the results, except those that are inputs.
  void release(const std::vector<Input> &inputs) {
    std::vector<void *> done;
    for (const Input &input : inputs)
      done.push_back(input.array.owner);
    for (int32_t i = 0; i < signature.result_count; ++i) {
      if (signature.results[i].rank == 0)
        continue;
      void *owner = *(void **)args[firstResult + (size_t)i];
      bool seen = false;
      for (void *other : done)
        seen |= other == owner;
      if (!seen)
        pmap_rt_free(owner);
      done.push_back(owner);
    }
  }

private:
  const pmap_signature &signature;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> packed;
  std::vector<void *> args;
  std::vector<std::string> copies;
  size_t firstResult = 0;

  /// A result that is a view with gaps is copied; others are left where they are.
  void makeDense(NamedArray &array, const int64_t *strides) {
    int64_t dense = 1;
    bool gaps = false;
    for (size_t d = array.sizes.size(); d-- > 0;) {
      gaps |= array.sizes[d] != 1 && strides[d] != dense;
      dense *= array.sizes[d];
    }
    if (!gaps || dense == 0)
      return;
    size_t bytes = (size_t)pmap_dtype_bytes(array.dtype);
    std::string copy((size_t)dense * bytes, '\0');
    for (int64_t i = 0; i < dense; ++i) {
      int64_t rest = i, from = 0;
      for (size_t d = array.sizes.size(); d-- > 0;) {
        from += rest % array.sizes[d] * strides[d];
        rest /= array.sizes[d];
      }
      memcpy(&copy[(size_t)i * bytes], (const char *)array.data + from * (int64_t)bytes, bytes);
    }
    copies.push_back(std::move(copy));
    array.data = copies.back().data();
  }
};

/// What is wrong with `-o` can be known before the program runs.
Problem checkOutput(const pmap_signature &signature, const std::string &output) {
  if (output.empty())
    return {};
  struct stat status;
  if (!stat(output.c_str(), &status) && S_ISDIR(status.st_mode))
    return checkWritable(output);
  bool npy = output.ends_with(".npy") || output == "/dev/stdout" || output == "/dev/full" || output == "/dev/null";
  bool lone = signature.result_count == 1 && !*signature.results[0].name;
  if (signature.result_count == 0)
    return {"E1028", output, std::string(signature.name) + " has no result to write", {}};
  if (!npy && !output.ends_with(".npz"))
    return {"E1028", output, "expected a file name that ends in .npy or .npz", {}};
  if (npy && !lone)
    return {"E1028", output, "a result of several arrays does not fit one .npy file", {"write it to a .npz archive"}};
  return checkWritable(output);
}

Problem writeResults(const std::string &output, std::vector<NamedArray> results) {
  if (!output.ends_with(".npz"))
    return writeNpy(output, results[0]);
  for (NamedArray &array : results)
    if (array.name.empty())
      array.name = "result";
  return writeNpz(output, results);
}

bool printResults(const std::vector<NamedArray> &results) {
  for (const NamedArray &array : results) {
    std::string text = formatArray(array.dtype, array.sizes, array.data);
    // An array of several lines starts on its own, so that its columns stay aligned.
    const char *after = text.find('\n') == std::string::npos ? ": " : ":\n";
    if (!array.name.empty())
      text = array.name + after + text;
    puts(text.c_str());
  }
  return fflush(stdout) == 0;
}

/// A file that is opened later must not get the number of a standard stream that was closed: what is printed would go
/// into it.
void openStandardStreams() {
  // The lowest free number is the one that `open` takes.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
      return;
}

/// What a run on one number of devices gave, to compare others with.
struct Snapshot {
  std::vector<NamedArray> arrays;
  std::vector<std::string> bytes;

  explicit Snapshot(const std::vector<NamedArray> &results) : arrays(results) {
    for (NamedArray &array : arrays) {
      int64_t size = pmap_dtype_bytes(array.dtype);
      for (int64_t n : array.sizes)
        size *= n;
      bytes.emplace_back((const char *)array.data, (size_t)size);
    }
    for (size_t i = 0; i < arrays.size(); ++i)
      arrays[i].data = bytes[i].data();
  }
};

double elementAt(const NamedArray &array, int64_t index) {
  char kind = kindOf(array.dtype);
  return kind == 'f'                  ? loadFloat(array.dtype, array.data, index)
         : kind == 'u' || kind == 'k' ? (double)loadUnsigned(array.dtype, array.data, index)
                                      : (double)loadSigned(array.dtype, array.data, index);
}

/// `largest difference 7.6e-06 in w`.
std::string differenceText(const std::vector<NamedArray> &first, const std::vector<NamedArray> &other) {
  double largest = 0;
  std::string where;
  for (size_t i = 0; i < first.size(); ++i) {
    std::string name = first[i].name.empty() ? "the result" : first[i].name;
    if (first[i].sizes != other[i].sizes)
      return name + " has another shape: " + typeText(other[i].dtype, other[i].sizes) + ", not " +
             typeText(first[i].dtype, first[i].sizes);
    int64_t count = 1;
    for (int64_t n : first[i].sizes)
      count *= n;
    for (int64_t k = 0; k < count; ++k) {
      double a = elementAt(first[i], k), b = elementAt(other[i], k);
      if (a == b || (std::isnan(a) && std::isnan(b)))
        continue;
      double difference = std::isnan(a) || std::isnan(b) ? INFINITY : std::fabs(a - b);
      if (where.empty() || difference > largest) {
        largest = difference;
        where = name;
      }
    }
  }
  return where.empty() ? "the same bits" : format("largest difference %.2g in %s", largest, where.c_str());
}

} // namespace

int32_t pmap_program_main(const pmap_program *program, int32_t argc, char **argv) {
  const pmap_signature &signature = *program->signature;
  double begin = now();
  openStandardStreams();
  Options options;
  std::vector<Problem> problems = parseOptions(signature, argc, argv, options);
  if (options.help) {
    fputs(helpText(*program).c_str(), stdout);
    return fflush(stdout) ? 1 : 0;
  }
  if (!problems.empty())
    return report(problems);
  if (Problem problem = checkOutput(signature, options.output))
    problems.push_back(problem);
  pmap_rt_start(options.devices.empty() ? 0 : options.devices[0], options.threads);
  pmap_rt_set_timeout(options.timeout);
  pmap_rt_reset_stats();
  if (program->is_parallel && options.devices.empty() && isatty(STDERR_FILENO))
    fputs("note: running on one device; --devices N splits the work\n", stderr);

  std::vector<Input> inputs;
  Symbols symbols;
  std::vector<std::string> remarks;
  readInputs(signature, options.inputs, inputs, problems, remarks);
  if (problems.empty())
    bindSizes(signature, inputs, symbols, problems);
  if (!problems.empty()) {
    for (Input &input : inputs)
      input.array.release();
    pmap_rt_stop();
    return report(problems);
  }

  for (const std::string &remark : remarks)
    fprintf(stderr, "%s\n", remark.c_str());

  Call call(signature, inputs, symbols);
  double loaded = now();
  auto runEntry = [&](Call &call) {
    context().patienceSeconds = patience;
    int32_t status =
        program->call ? program->call(program->user, call.arguments()) : pmap_rt_call(program->entry, call.arguments());
    context().patienceSeconds = 0;
    fflush(stdout);
    if (status && !program->call)
      fputs(pmap_rt_error_message(), stderr);
    if (status)
      pmap_rt_stop();
    return status;
  };
  if (int32_t status = runEntry(call))
    return status;
  double ran = now();

  if (options.same) {
    Snapshot first(call.results());
    for (size_t i = 1; i < options.devices.size(); ++i) {
      pmap_rt_start(options.devices[i], options.threads);
      Call again(signature, inputs, symbols);
      if (int32_t status = runEntry(again))
        return status;
      printf("%d devices against %d: %s\n", options.devices[i], options.devices[0],
             differenceText(first.arrays, again.results()).c_str());
      again.release(inputs);
    }
    fflush(stdout);
  }
  if (options.same && options.output.empty()) {
    // The comparison is what was asked for.
  } else if (options.output.empty()) {
    if (!printResults(call.results()))
      problems.push_back({"E1027", "standard output", "cannot write the result: " + systemReason(errno), {}});
  } else if (Problem problem = writeResults(options.output, call.results())) {
    problems.push_back(problem);
  }
  // Lines that the program printed may be lost where its result is not. The reason is long gone.
  if (problems.empty() && (fflush(stdout) || ferror(stdout)))
    problems.push_back({"E1027", "standard output", "cannot write what was printed", {}});
  report(problems);
  if (options.time) {
    pmap_stats stats;
    pmap_rt_get_stats(&stats);
    fprintf(stderr, "load %.1f ms, run %.1f ms, write %.1f ms\n", (loaded - begin) * 1e3, (ran - loaded) * 1e3,
            (now() - ran) * 1e3);
    // A program with a call of its own (the reference evaluator) has no arenas and moves nothing that is counted.
    if (!program->call)
      fprintf(stderr, "memory %s at most, %s copied between devices, %lld maps, %lld collectives\n",
              bytesText(stats.peak_bytes).c_str(), bytesText(stats.moved_bytes).c_str(), (long long)stats.maps,
              (long long)stats.collectives);
  }
  call.release(inputs);
  for (Input &input : inputs)
    input.array.release();
  pmap_rt_stop();
  return problems.empty() ? 0 : 1;
}
