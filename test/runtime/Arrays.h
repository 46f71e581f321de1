// Arrays in packed form for tests, and their reading back.

#ifndef PMAP_TEST_RUNTIME_ARRAYS_H
#define PMAP_TEST_RUNTIME_ARRAYS_H

#include "pmap/runtime.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

namespace pmap::test {

/// A packed array over memory of `pmap_rt_alloc`, freed at the end.
template <typename T> struct Packed {
  std::vector<int64_t> words;
  size_t rank;

  explicit Packed(size_t rank) : words(3 + 2 * rank, 0), rank(rank) {}
  Packed(std::vector<int64_t> sizes, const std::vector<T> &values) : Packed(sizes.size()) {
    void *memory = pmap_rt_alloc((int64_t)(values.size() * sizeof(T)));
    std::copy(values.begin(), values.end(), (T *)memory);
    words[0] = words[1] = (int64_t)memory;
    describe(sizes);
  }
  Packed(const Packed &) = delete;
  ~Packed() { pmap_rt_free((void *)words[0]); }

  void describe(const std::vector<int64_t> &sizes) {
    int64_t stride = 1;
    for (size_t d = rank; d-- > 0;) {
      words[3 + d] = sizes[d];
      words[3 + rank + d] = stride;
      stride *= sizes[d];
    }
  }
  void *pointer() { return words.data(); }
  T *data() { return (T *)words[1] + words[2]; }
  std::vector<int64_t> sizes() const { return {words.begin() + 3, words.begin() + 3 + (long)rank}; }
  std::vector<T> values() {
    int64_t count = 1;
    for (int64_t size : sizes())
      count *= size;
    return {data(), data() + count};
  }
};

/// Views of a body's packed argument.
template <typename T> T *dataOf(void *packed) {
  auto *array = (pmap_array *)packed;
  return (T *)array->aligned + array->offset;
}
inline int64_t sizeOf(void *packed, int d) { return ((pmap_array *)packed)->sizes_and_strides[d]; }

/// Fills a result descriptor of a body with a fresh buffer.
template <typename T> T *fresh(void *packed, const std::vector<int64_t> &sizes) {
  auto *array = (pmap_array *)packed;
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), (int64_t)1, std::multiplies<>());
  array->allocated = array->aligned = pmap_rt_alloc(count * (int64_t)sizeof(T));
  array->offset = 0;
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    array->sizes_and_strides[d] = sizes[d];
    array->sizes_and_strides[sizes.size() + d] = stride;
    stride *= sizes[d];
  }
  return (T *)array->aligned;
}

/// Numbers 0, 1, ... count - 1.
template <typename T> std::vector<T> counting(int64_t count) {
  std::vector<T> values((size_t)count);
  for (int64_t i = 0; i < count; ++i)
    values[(size_t)i] = (T)i;
  return values;
}

/// Runs a lambda as a launch; returns the error message, or "".
template <typename Body> std::string launch(Body body) {
  void *args[] = {&body};
  int32_t status = pmap_rt_call([](void **args) { (*(Body *)args[0])(); }, args);
  return status ? pmap_rt_error_message() : "";
}

inline constexpr pmap_site site{"test.pmap", 7, 3, nullptr};

/// Runs `body` on every device of a mesh described by `layout`, whose map has `sizes`, inputs and outputs as given.
inline std::string runMap(const char *layout, pmap_packed body, std::vector<int64_t> sizes = {},
                          std::vector<pmap_dist *> inputs = {}, std::vector<pmap_dist *> *outputs = nullptr) {
  pmap_map_desc desc{&site, body, layout};
  return launch([&] { pmap_rt_map(&desc, sizes.data(), inputs.data(), outputs ? outputs->data() : nullptr); });
}

} // namespace pmap::test

#endif // PMAP_TEST_RUNTIME_ARRAYS_H
