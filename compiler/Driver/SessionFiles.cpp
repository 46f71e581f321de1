// What a session reads from files, writes to them, and draws.

#include "compiler/Driver/Output.h"
#include "compiler/Driver/Plot.h"
#include "compiler/Driver/SessionValue.h"

#include "runtime/io/Files.h"
#include "runtime/io/OddValues.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

namespace pmap {
namespace {

bool refuse(const rt::Problem &problem) {
  llvm::errs() << problem.render();
  return false;
}

/// The leaf of an array that was read, which it takes over.
SessionLeaf leafOf(rt::HostArray &array, const std::string &name) {
  SessionLeaf leaf{name, static_cast<DType>(array.dtype), array.sizes, {}, nullptr};
  if (array.sizes.empty()) {
    leaf.scalar.assign(array.data, array.data + dtypeBytes(leaf.dtype));
    array.release();
  } else {
    // A mapped file is no buffer of the runtime's, and is given back in a way of its own.
    leaf.buffer = std::shared_ptr<void>(array.data, [array](void *) mutable { array.release(); });
  }
  return leaf;
}

/// Whether a name of an archive can be the name of a field, or several of them.
bool isFieldName(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '.');
  return llvm::all_of(parts, [](llvm::StringRef part) {
    return !part.empty() && !llvm::isDigit(part[0]) &&
           llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  });
}

bool readArchive(const std::string &path, const std::string &wanted, const std::string &variable,
                 std::vector<SessionLeaf> &leaves) {
  rt::Archive archive;
  if (rt::Problem problem = archive.open(path))
    return refuse(problem);
  std::vector<std::string> names = archive.names();
  std::string only = !wanted.empty() ? wanted : archive.has(variable) ? variable : names.size() == 1 ? names[0] : "";
  if (!only.empty())
    names = {only};
  // The parts of a nested record stand together.
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i + 1 < names.size(); ++i)
    if (llvm::StringRef(names[i + 1]).starts_with(names[i] + "."))
      return refuse({"E1026", path, "'" + names[i] + "' and '" + names[i + 1] + "' are no parts of one record", {}});
  for (const std::string &name : names) {
    if (only.empty() && !isFieldName(name))
      return refuse({"E1026",
                     path,
                     "the archive holds '" + name + "', which is no name of a field",
                     {"take one array by its name, " + variable + "=" + path + ":" + name}});
    rt::HostArray array;
    if (rt::Problem problem = archive.read(name, array))
      return refuse(problem);
    leaves.push_back(leafOf(array, only.empty() ? name : ""));
  }
  return true;
}

} // namespace

std::vector<std::string> typeTexts(llvm::ArrayRef<SessionLeaf> leaves) {
  std::vector<std::string> texts;
  for (const SessionLeaf &leaf : leaves)
    texts.push_back(typeText(leaf));
  return texts;
}

bool readLeaves(const std::string &path, const std::string &variable, std::vector<SessionLeaf> &leaves) {
  size_t colon = path.rfind(".npz:");
  if (colon != std::string::npos)
    return readArchive(path.substr(0, colon + 4), path.substr(colon + 5), variable, leaves);
  llvm::StringRef text(path);
  if (text.ends_with(".npz"))
    return readArchive(path, "", variable, leaves);
  if (!text.ends_with(".npy"))
    return refuse({"E1024", path, "expected a .npy or .npz file", {}});
  rt::HostArray array;
  if (rt::Problem problem = rt::isPattern(path) ? rt::readBlocks(path, path, array) : rt::readNpy(path, array))
    return refuse(problem);
  leaves.push_back(leafOf(array, ""));
  return true;
}

void writeLeaves(const std::string &path, llvm::ArrayRef<SessionLeaf> leaves) {
  std::vector<rt::NamedArray> arrays;
  for (const SessionLeaf &leaf : leaves)
    arrays.push_back({leaf.name, static_cast<int32_t>(leaf.dtype), leaf.sizes,
                      leaf.sizes.empty() ? leaf.scalar.data() : leaf.buffer.get()});
  llvm::StringRef name(path);
  rt::Problem problem;
  if (arrays.empty())
    problem = {"E1028", path, "there is no value to write", {}};
  else if (!name.ends_with(".npy") && !name.ends_with(".npz"))
    problem = {"E1028", path, "expected a file name that ends in .npy or .npz", {}};
  else if (name.ends_with(".npy") && arrays.size() > 1)
    problem = {"E1028", path, "a value of several arrays does not fit one .npy file", {"write it to a .npz archive"}};
  else if (name.ends_with(".npy"))
    problem = rt::writeNpy(path, arrays[0]);
  else {
    if (arrays[0].name.empty())
      arrays[0].name = "result";
    problem = rt::writeNpz(path, arrays);
  }
  if (problem)
    refuse(problem);
}

void plotLeaves(const std::string &title, llvm::ArrayRef<SessionLeaf> leaves) {
  Plot plot;
  plot.title = title;
  for (const SessionLeaf &leaf : leaves) {
    rt::HostArray array;
    array.dtype = static_cast<int32_t>(leaf.dtype);
    array.sizes = leaf.sizes;
    array.data = static_cast<char *>(leaf.buffer.get());
    if (!addSeries(array, leaf.name.empty() ? title : leaf.name, plot.series)) {
      refuse({"E1029", "", "expected a vector, or a matrix whose columns are curves, got " + typeText(leaf), {}});
      return;
    }
  }
  printPlot(plot);
}

} // namespace pmap
