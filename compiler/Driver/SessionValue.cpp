#include "compiler/Driver/SessionValue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace pmap {
namespace {

/// Splits leaves by the first part of their names and calls `visit` with each part, its leaves and their names' rests.
struct Part {
  std::string name;
  std::vector<size_t> members;
};

std::vector<Part> partsOf(llvm::ArrayRef<std::string> paths) {
  std::vector<Part> parts;
  for (size_t i = 0; i < paths.size(); ++i) {
    std::string head = llvm::StringRef(paths[i]).split('.').first.str();
    if (parts.empty() || parts.back().name != head)
      parts.push_back({head, {}});
    parts.back().members.push_back(i);
  }
  return parts;
}

bool isNumber(llvm::StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string nest(llvm::ArrayRef<std::string> paths, llvm::ArrayRef<std::string> texts) {
  if (paths.size() == 1 && paths[0].empty())
    return texts[0];
  std::string out = "(";
  std::vector<Part> parts = partsOf(paths);
  for (const Part &part : parts) {
    std::vector<std::string> innerPaths, innerTexts;
    for (size_t i : part.members) {
      innerPaths.push_back(llvm::StringRef(paths[i]).split('.').second.str());
      innerTexts.push_back(texts[i]);
    }
    out += &part == &parts.front() ? "" : ", ";
    if (!isNumber(part.name))
      out += part.name + ": ";
    out += nest(innerPaths, innerTexts);
  }
  // A tuple of one keeps its comma.
  return out + (parts.size() == 1 && isNumber(parts[0].name) ? ",)" : ")");
}

/// Storage for one packed argument: an index or scalar, or a memref descriptor.
struct Packed {
  std::vector<int64_t> words;
  void *pointer() { return words.data(); }
};

Packed describe(void *data, llvm::ArrayRef<int64_t> sizes) {
  size_t rank = sizes.size();
  Packed packed;
  packed.words.resize(3 + 2 * rank);
  packed.words[0] = packed.words[1] = reinterpret_cast<int64_t>(data);
  int64_t stride = 1;
  for (size_t d = rank; d-- > 0;) {
    packed.words[3 + d] = sizes[d];
    packed.words[3 + rank + d] = stride;
    stride *= sizes[d];
  }
  return packed;
}

/// The buffer of an array result as the session keeps it: shared with the input or result that it aliases, otherwise
/// taken over. Constants lie in the program's own code, which goes when the entry is done, so they are copied.
std::shared_ptr<void> ownBuffer(const Packed &packed, const SessionLeaf &leaf,
                                llvm::ArrayRef<const SessionLeaf *> inputs, llvm::ArrayRef<SessionLeaf> earlier) {
  constexpr int64_t constantMark = 0xdeadbeef; // What MLIR writes where a descriptor's buffer is a constant.
  void *allocated = reinterpret_cast<void *>(packed.words[0]);
  char *data = reinterpret_cast<char *>(packed.words[1]) + packed.words[2] * dtypeBytes(leaf.dtype);
  for (const SessionLeaf *input : inputs)
    if (input->buffer.get() == allocated && data == allocated)
      return input->buffer;
  for (const SessionLeaf &other : earlier)
    if (other.buffer.get() == allocated && data == allocated)
      return other.buffer;
  if (packed.words[0] != constantMark && data == allocated)
    return std::shared_ptr<void>(allocated, pmap_rt_free);
  int64_t bytes = dtypeBytes(leaf.dtype);
  for (int64_t size : leaf.sizes)
    bytes *= size;
  void *copy = pmap_rt_alloc(bytes);
  if (bytes)
    std::memcpy(copy, data, bytes);
  return std::shared_ptr<void>(copy, pmap_rt_free);
}

} // namespace

std::string typeText(const SessionLeaf &leaf) {
  std::string text = dtypeName(leaf.dtype).str();
  for (size_t d = 0; d < leaf.sizes.size(); ++d)
    text += (d ? ", " : "[") + std::to_string(leaf.sizes[d]);
  return text + (leaf.sizes.empty() ? "" : "]");
}

std::string nestText(llvm::ArrayRef<SessionLeaf> leaves, llvm::ArrayRef<std::string> names) {
  std::vector<std::string> paths;
  for (const SessionLeaf &leaf : leaves)
    paths.push_back(leaf.name);
  return nest(paths, names);
}

std::string valueText(llvm::ArrayRef<SessionLeaf> leaves) {
  std::vector<std::string> paths, texts;
  for (const SessionLeaf &leaf : leaves) {
    paths.push_back(leaf.name);
    const void *data = leaf.sizes.empty() ? static_cast<const void *>(leaf.scalar.data()) : leaf.buffer.get();
    char *text = pmap_format_array(static_cast<int32_t>(leaf.dtype), static_cast<int32_t>(leaf.sizes.size()),
                                   leaf.sizes.data(), data, 0);
    texts.push_back(text);
    std::free(text);
  }
  return nest(paths, texts);
}

bool callProgram(const pmap_program &program, llvm::ArrayRef<const SessionLeaf *> inputs,
                 std::vector<SessionLeaf> &results) {
  const pmap_signature &signature = *program.signature;
  std::vector<Packed> storage;
  for (const SessionLeaf *leaf : inputs) {
    if (!leaf->sizes.empty()) {
      storage.push_back(describe(leaf->buffer.get(), leaf->sizes));
      continue;
    }
    Packed packed;
    packed.words.resize(1);
    std::memcpy(packed.words.data(), leaf->scalar.data(), leaf->scalar.size());
    storage.push_back(std::move(packed));
  }
  for (int i = 0; i < signature.result_count; ++i)
    storage.push_back({std::vector<int64_t>(std::max(3 + 2 * signature.results[i].rank, 1))});
  std::vector<void *> arguments;
  for (Packed &packed : storage)
    arguments.push_back(packed.pointer());
  int status =
      program.call ? program.call(program.user, arguments.data()) : pmap_rt_call(program.entry, arguments.data());
  if (status != 0) {
    if (!program.call)
      llvm::errs() << pmap_rt_error_message();
    return false;
  }
  for (int i = 0; i < signature.result_count; ++i) {
    const pmap_leaf &leaf = signature.results[i];
    Packed &packed = storage[inputs.size() + i];
    SessionLeaf result{leaf.name, static_cast<DType>(leaf.dtype), {}, {}, nullptr};
    if (leaf.rank == 0) {
      result.scalar.resize(dtypeBytes(result.dtype));
      std::memcpy(result.scalar.data(), packed.words.data(), result.scalar.size());
    } else {
      result.sizes.assign(packed.words.begin() + 3, packed.words.begin() + 3 + leaf.rank);
      result.buffer = ownBuffer(packed, result, inputs, results);
    }
    results.push_back(std::move(result));
  }
  return true;
}

} // namespace pmap
