#include "compiler/Evaluate/Program.h"

#include "mlir/IR/BuiltinTypes.h"
#include "pmap/runtime.h"
#include "runtime/core/Failure.h"
#include <cstdio>
#include <cstring>

using namespace mlir;

namespace pmap::evaluate {
namespace {

struct FailureRow {
  const char *code, *format;
};

/// The runtime's own table, so that both targets word a failure alike.
constexpr FailureRow failureRows[] = {
#define PMAP_FAILURE_ROW(name, code, format) {code, format},
    PMAP_FAILURES(PMAP_FAILURE_ROW)
#undef PMAP_FAILURE_ROW
};

void replaceAll(std::string &text, StringRef from, StringRef to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Where the elements of a packed argument of some rank begin. Compiled code makes dense arrays only.
const void *elementsOf(const pmap_array *array, int64_t width) {
  return static_cast<const char *>(array->aligned) + array->offset * width;
}

NDArray unpack(Type type, const void *argument) {
  Element element = elementOf(type);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0)
    return NDArray::fromBytes(element, {}, argument);
  auto *array = static_cast<const pmap_array *>(argument);
  ArrayRef<int64_t> shape(array->sizes_and_strides, tensor.getRank());
  return NDArray::fromBytes(element, shape, elementsOf(array, byteWidth(element)));
}

void pack(const NDArray &array, void *storage) {
  if (array.rank() == 0) {
    std::memcpy(storage, array.data(), array.byteCount());
    return;
  }
  auto *packed = static_cast<pmap_array *>(storage);
  packed->allocated = packed->aligned = pmap_rt_alloc(array.byteCount());
  packed->offset = 0;
  if (array.byteCount() != 0)
    std::memcpy(packed->aligned, array.data(), array.byteCount());
  auto strides = stridesOf(array.shape());
  for (int64_t d = 0; d < array.rank(); ++d) {
    packed->sizes_and_strides[d] = array.dim(d);
    packed->sizes_and_strides[array.rank() + d] = strides[d];
  }
}

void print(StringRef format, ArrayRef<NDArray> arrays, ArrayRef<StringRef> dtypes, int64_t device) {
  std::string text = device < 0 ? format.str() : ("[device " + Twine(device) + "] " + format).str();
  // Storage for the packed form of each value: a scalar, or a descriptor that borrows the array's elements.
  std::vector<std::vector<int64_t>> descriptors;
  std::vector<const void *> values;
  std::vector<int32_t> dtypeNumbers, ranks;
  for (auto [array, dtype] : llvm::zip_equal(arrays, dtypes)) {
    dtypeNumbers.push_back(pmap_dtype_from_name(dtype.str().c_str()));
    ranks.push_back(array.rank());
    auto data = reinterpret_cast<int64_t>(array.data());
    auto &descriptor = descriptors.emplace_back(std::vector<int64_t>{data, data, 0});
    descriptor.insert(descriptor.end(), array.shape().begin(), array.shape().end());
    llvm::append_range(descriptor, stridesOf(array.shape()));
    values.push_back(array.rank() == 0 ? array.data() : descriptor.data());
  }
  pmap_rt_print(nullptr, text.c_str(), values.size(), dtypeNumbers.data(), ranks.data(), values.data());
}

} // namespace

std::string messageOf(const Failure &failure) {
  if (failure.kind < 0)
    return failure.text;
  std::string message = failureRows[failure.kind].format;
  if (failure.kind == PMAP_FAIL_ASSERT && failure.text.empty())
    return "assertion failed";
  replaceAll(message, "{a}", std::to_string(failure.a));
  replaceAll(message, "{b}", std::to_string(failure.b));
  replaceAll(message, "{c}", std::to_string(failure.c));
  replaceAll(message, "{text}", failure.text);
  return message;
}

std::string codeOf(const Failure &failure) {
  if (failure.kind >= 0)
    return failureRows[failure.kind].code;
  return failure.code.empty() ? "E1199" : failure.code;
}

int32_t callReference(func::FuncOp entry, void **args, std::string &message) {
  SmallVector<NDArray> inputs, results;
  for (auto [argument, type] : llvm::zip(llvm::seq<size_t>(0, entry.getNumArguments()), entry.getArgumentTypes()))
    inputs.push_back(unpack(type, args[argument]));
  EvaluateOptions options;
  options.devices = pmap_rt_num_devices();
  options.print = print;
  Failure failure;
  if (failed(evaluate(entry, inputs, options, results, failure))) {
    pmap_site site = {failure.file.c_str(), failure.line, failure.column, failure.text.c_str()};
    message = rt::renderError(&site, codeOf(failure).c_str(), messageOf(failure));
    return 1;
  }
  for (auto [index, result] : llvm::enumerate(results))
    pack(result, args[inputs.size() + index]);
  return 0;
}

int32_t callReference(void *user, void **args) {
  std::string message;
  int32_t status = callReference(static_cast<ReferenceEntry *>(user)->entry, args, message);
  std::fputs(message.c_str(), stderr);
  return status;
}

} // namespace pmap::evaluate
