#include "compiler/Driver/ReferenceProgram.h"

#include "compiler/Evaluate/Evaluate.h"
#include "runtime/core/Failure.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pmap {
namespace {

/// The C form of a signature, owning its texts and tables.
class SignatureTables {
public:
  explicit SignatureTables(ProgramSignature source) : source(std::move(source)) {
    const ProgramSignature &s = this->source;
    for (const std::string &symbol : s.symbols)
      symbols.push_back(symbol.c_str());
    // The tables point into vectors that must not grow again.
    sizes.reserve(s.parameters.size() + s.results.size());
    fill(s.parameters, parameters);
    fill(s.results, results);
    table = {s.name.c_str(),
             s.declaration.c_str(),
             s.doc.empty() ? nullptr : s.doc.c_str(),
             static_cast<int32_t>(symbols.size()),
             static_cast<int32_t>(parameters.size()),
             static_cast<int32_t>(results.size()),
             symbols.data(),
             parameters.data(),
             results.data()};
  }
  SignatureTables(const SignatureTables &) = delete;

  ProgramSignature source;
  pmap_signature table;

private:
  void fill(const std::vector<SignatureLeaf> &leaves, std::vector<pmap_leaf> &out) {
    for (const SignatureLeaf &leaf : leaves) {
      auto &names = sizes.emplace_back();
      for (const std::string &size : leaf.sizes)
        names.push_back(size.c_str());
      out.push_back({leaf.name.c_str(), static_cast<int32_t>(leaf.dtype), static_cast<int32_t>(leaf.sizes.size()),
                     names.data(), leaf.defaultText ? leaf.defaultText->c_str() : nullptr,
                     leaf.doc.empty() ? nullptr : leaf.doc.c_str()});
    }
  }

  std::vector<const char *> symbols;
  std::vector<std::vector<const char *>> sizes;
  std::vector<pmap_leaf> parameters, results;
};

/// The array behind a packed argument. Inputs are dense.
evaluate::NDArray readPacked(const SignatureLeaf &leaf, const void *argument, evaluate::Element element) {
  if (leaf.sizes.empty())
    return evaluate::NDArray::fromBytes(element, {}, argument);
  const auto *array = static_cast<const pmap_array *>(argument);
  llvm::ArrayRef<int64_t> shape(array->sizes_and_strides, leaf.sizes.size());
  const char *data = static_cast<const char *>(array->aligned) + array->offset * evaluate::byteWidth(element);
  return evaluate::NDArray::fromBytes(element, shape, data);
}

/// Stores an array as a packed result: a fresh buffer of the runtime's.
void writePacked(const evaluate::NDArray &value, void *result) {
  if (value.rank() == 0) {
    std::memcpy(result, value.data(), value.byteCount());
    return;
  }
  auto *array = static_cast<pmap_array *>(result);
  array->allocated = array->aligned = pmap_rt_alloc(value.byteCount());
  array->offset = 0;
  if (value.byteCount())
    std::memcpy(array->aligned, value.data(), value.byteCount());
  int64_t rank = value.rank(), stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    array->sizes_and_strides[d] = value.dim(d);
    array->sizes_and_strides[rank + d] = stride;
    stride *= value.dim(d);
  }
}

/// In the runtime's words and layout, so that both targets fail alike.
void printFailure(const evaluate::Failure &failure) {
  pmap_site site = {failure.file.c_str(), failure.line, failure.column, failure.text.c_str()};
  std::string code = evaluate::codeOf(failure);
  std::string text = rt::renderError(&site, code.empty() ? "E1201" : code.c_str(), evaluate::messageOf(failure),
                                     evaluate::noteOf(failure));
  std::fputs(text.c_str(), stderr);
}

/// `print` of a program: each `{}` of the format is one value, printed as NumPy does.
void printLine(llvm::StringRef format, llvm::ArrayRef<evaluate::NDArray> values, llvm::ArrayRef<llvm::StringRef> dtypes,
               int64_t device) {
  std::string line = device >= 0 ? "[device " + std::to_string(device) + "] " : "";
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    llvm::StringRef pair = format.substr(i, 2);
    if (pair == "{}" && next < values.size()) {
      const evaluate::NDArray &value = values[next];
      auto dtype = parseDType(dtypes[next++]);
      char *text = pmap_format_array(static_cast<int32_t>(dtype.value_or(DType::F32)),
                                     static_cast<int32_t>(value.rank()), value.shape().data(), value.data(), 0);
      line += text;
      std::free(text);
      ++i;
    } else {
      line += format[i];
      if (pair == "{{" || pair == "}}")
        ++i;
    }
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

} // namespace

struct ReferenceProgram::Entry {
  Entry(mlir::func::FuncOp function, ProgramSignature signature) : function(function), tables(std::move(signature)) {}

  static int32_t call(void *user, void **args) {
    auto &entry = *static_cast<Entry *>(user);
    const ProgramSignature &signature = entry.tables.source;
    llvm::SmallVector<evaluate::NDArray> inputs, results;
    size_t next = 0;
    for (size_t i = 0; i < signature.symbols.size(); ++i)
      inputs.push_back(evaluate::NDArray::ofIndex(*static_cast<int64_t *>(args[next++])));
    for (const SignatureLeaf &leaf : signature.parameters) {
      mlir::Type type = elementType(leaf.dtype, entry.function.getContext());
      inputs.push_back(readPacked(leaf, args[next++], evaluate::elementOf(type)));
    }
    evaluate::EvaluateOptions options;
    options.devices = entry.devices ? entry.devices : pmap_rt_num_devices();
    options.print = printLine;
    evaluate::Failure failure;
    if (mlir::failed(evaluate::evaluate(entry.function, inputs, options, results, failure))) {
      printFailure(failure);
      return failure.ofInput ? 2 : 1;
    }
    for (const evaluate::NDArray &result : results)
      writePacked(result, args[next++]);
    return 0;
  }

  mlir::func::FuncOp function;
  SignatureTables tables;
  std::string name;
  int devices = 0;
  pmap_program program{};
};

ReferenceProgram::ReferenceProgram() = default;
ReferenceProgram::~ReferenceProgram() = default;

std::unique_ptr<ReferenceProgram> ReferenceProgram::create(mlir::ModuleOp module, const std::string &name,
                                                           int devices) {
  std::unique_ptr<ReferenceProgram> result(new ReferenceProgram());
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    auto signature = getSignature(function);
    if (!signature)
      continue;
    auto entry = std::make_unique<Entry>(function, std::move(*signature));
    entry->name = name;
    entry->devices = devices;
    entry->program = {entry->name.c_str(), nullptr,     &entry->tables.table,
                      Entry::call,         entry.get(), entry->tables.source.isParallel};
    result->entries.push_back(std::move(entry));
  }
  if (result->entries.empty())
    return nullptr;
  auto main = llvm::find_if(result->entries, [](const auto &e) { return e->tables.source.kind == EntryKind::Main; });
  if (main != result->entries.end())
    std::rotate(result->entries.begin(), main, main + 1);
  return result;
}

int ReferenceProgram::main(int argc, char **argv) {
  if (entries.front()->tables.source.kind != EntryKind::Main) {
    std::fprintf(stderr, "error: the program has no `main` to run [E1003]\n");
    return 2;
  }
  return pmap_program_main(&entries.front()->program, argc, argv);
}

std::vector<const pmap_program *> ReferenceProgram::programs() const {
  std::vector<const pmap_program *> list;
  for (const auto &entry : entries)
    list.push_back(&entry->program);
  return list;
}

} // namespace pmap
