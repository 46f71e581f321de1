// What was likely meant by a value that cannot be read, and what to write instead.

#include "runtime/io/OddValues.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Options.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

using namespace pmap::rt;

namespace {

/// The ending of a file's name in lower case, without the dot, or "".
std::string endingOf(const std::string &path) {
  size_t slash = path.rfind('/'), dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash))
    return "";
  std::string ending = path.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return (char)tolower(c); });
  return ending;
}

/// How to make a .npy file of one of another form.
std::string conversion(const pmap_leaf &leaf, const std::string &path) {
  std::string ending = endingOf(path), stem = path.substr(0, path.size() - ending.size() - (ending.empty() ? 0 : 1));
  std::string save = "np.save(\"" + stem + ".npy\", ";
  std::string dtype = "dtype=" + numpyName(leaf.dtype);
  if (ending == "npy" || ending == "npz")
    return "its name ends in capital letters; call it " + stem + "." + ending;
  if (ending == "csv")
    return "save it with " + save + "np.loadtxt(\"" + path + "\", " + dtype + ", delimiter=\",\"))";
  if (ending == "txt" || ending == "dat" || ending == "tsv")
    return "save it with " + save + "np.loadtxt(\"" + path + "\", " + dtype + "))";
  return "load it in Python and save it with " + save + "array)";
}

} // namespace

std::string pmap::rt::numpyName(int32_t dtype) {
  std::string bits = std::to_string(pmap_dtype_bytes(dtype) * 8);
  if (dtype == PMAP_bf16)
    return "ml_dtypes.bfloat16";
  switch (kindOf(dtype)) {
  case 'b':
    return "np.bool_";
  case 'i':
    return "np.int" + bits;
  case 'f':
    return "np.float" + bits;
  default:
    return "np.uint" + bits;
  }
}

bool pmap::rt::isPattern(const std::string &path) {
  return path.find_first_of("*?[") != std::string::npos && access(path.c_str(), F_OK);
}

Problem pmap::rt::oddValue(const pmap_leaf &leaf, const std::string &name, const std::string &value, Problem literal) {
  std::string origin = name + "=" + value, wanted = "expected a value or a file for " + leafType(leaf);
  struct stat status;
  if (!value.empty() && !stat(value.c_str(), &status)) {
    if (S_ISDIR(status.st_mode)) {
      std::string inside = value + (value.back() == '/' ? "" : "/");
      return {"E1018",
              origin,
              wanted + ", got a folder",
              {"name a file in it, " + name + "=" + inside + "x.npy, or the blocks of one array, " + name + "='" +
               inside + "*.npy'"}};
    }
    if (!S_ISREG(status.st_mode))
      return {"E1018", origin, wanted + ", got what is no regular file", {}};
    return {"E1024",
            origin,
            "expected a .npy or .npz file for " + leafType(leaf) + ", got a file of another form",
            {conversion(leaf, value)}};
  }
  // What begins like a literal is one.
  size_t first = value.find_first_not_of(" \t\n");
  bool isList = first != std::string::npos && value[first] == '[';
  bool hasLetter = std::any_of(value.begin(), value.end(), [](unsigned char c) { return isalpha(c); });
  if (!isList && hasLetter && value.find_first_of("*?[") != std::string::npos)
    return {"E1018",
            origin,
            "expected the .npy files that hold the blocks of " + leafType(leaf) + ", got another pattern",
            {"end it in .npy, as in " + name + "='part-*.npy'"}};
  if (first == std::string::npos || isList)
    return literal;
  if (value.find(".npy:") != std::string::npos)
    return {"E1018",
            origin,
            wanted + ", got the name of an array in a .npy file, which holds only one",
            {"write " + name + "=" + value.substr(0, value.find(".npy:") + 4)}};
  bool isPath = value.find_first_of("/.") != std::string::npos && isalpha((unsigned char)value.back());
  if (isPath)
    return {"E1018",
            origin,
            wanted + ", got neither: there is no such file",
            {"files are .npy, or .npz with the name of an array, data.npz:x"}};
  if (leaf.rank > 0 && literal.code == "E1014" && !isdigit((unsigned char)value[first]))
    literal.message = wanted + ", got '" + value + "'";
  if (value.find(',') != std::string::npos)
    literal.notes.push_back("a list is written in brackets: " + name + "='[" + value + "]'");
  return literal;
}
