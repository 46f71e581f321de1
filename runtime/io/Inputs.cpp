// Inputs by name, checked against the signature.

#include "runtime/io/Inputs.h"
#include "runtime/core/Failure.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Files.h"
#include "runtime/io/Options.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unistd.h>

using namespace pmap::rt;

namespace {

/// The parameter a leaf belongs to: the name up to its first dot.
std::string rootOf(const std::string &leaf) { return leaf.substr(0, leaf.find('.')); }

/// What `x=` may name: a whole parameter or one leaf, or some record on the way.
bool covers(const std::string &given, const std::string &leaf) {
  return leaf == given || (leaf.size() > given.size() && leaf.starts_with(given) && leaf[given.size()] == '.');
}

/// Archives that were opened, so that `m=model.npz` is opened once.
struct Archives {
  std::map<std::string, std::pair<std::unique_ptr<Archive>, Problem>> open;

  Archive *get(const std::string &path, Problem &problem) {
    auto found = open.find(path);
    if (found == open.end()) {
      auto archive = std::make_unique<Archive>();
      Problem result = archive->open(path);
      found = open.emplace(path, std::make_pair(std::move(archive), result)).first;
    }
    problem = found->second.second;
    return problem ? nullptr : found->second.first.get();
  }
};

class Reader {
public:
  Reader(const pmap_signature &signature, std::vector<Problem> &problems) : signature(signature), problems(problems) {}

  void read(const std::vector<std::pair<std::string, std::string>> &given, std::vector<Input> &inputs) {
    size_t before = problems.size();
    checkNames(given);
    for (int32_t i = 0; i < signature.parameter_count; ++i) {
      const pmap_leaf &leaf = signature.parameters[i];
      // The most specific one wins: `m=all.npz m.w=new.npy`.
      const std::pair<std::string, std::string> *best = nullptr;
      for (const auto &pair : given)
        if (covers(pair.first, leaf.name) && (!best || pair.first.size() > best->first.size()))
          best = &pair;
      Input &input = inputs[(size_t)i];
      if (best) {
        input.origin = best->first + "=" + best->second;
        report(load(leaf, best->first, best->second, input));
      } else if (leaf.default_text) {
        input.origin = std::string("the default of ") + leaf.name;
        report(parseLiteral(leaf.default_text, leaf.dtype, leaf.rank, input.origin, input.array));
      } else {
        report({"E1011", "", "input '" + std::string(leaf.name) + "' is missing, expected " + leafType(leaf), {}});
      }
    }
    reportMissing();
    // The signature once, after the last of them.
    if (problems.size() > before)
      problems.back().notes.push_back(std::string("the signature is ") + signature.declaration);
  }

private:
  const pmap_signature &signature;
  std::vector<Problem> &problems;
  Archives archives;
  /// By archive: the names of the arrays that it lacks.
  std::map<std::string, std::vector<std::string>> missing;

  /// The leaves of a record that are wrong in the same way are told once.
  void report(Problem problem) {
    auto isSame = [&](const Problem &other) {
      return other.code == problem.code && other.subject == problem.subject && other.message == problem.message;
    };
    if (problem && std::none_of(problems.begin(), problems.end(), isSame))
      problems.push_back(std::move(problem));
  }

  /// An archive whose arrays have other names than the leaves: says how to name them.
  void reportMissing() {
    for (const auto &[path, names] : missing) {
      std::string quoted, keywords, held;
      for (const std::string &name : names) {
        quoted += (quoted.empty() ? "'" : ", '") + name + "'";
        keywords += (keywords.empty() ? "'" : ", '") + name + "': ...";
      }
      Problem ignored;
      for (const std::string &entry : archives.get(path, ignored)->names())
        held += (held.empty() ? "" : " ") + entry;
      problems.push_back({"E1026",
                          path,
                          std::string("the archive has no ") + (names.size() == 1 ? "array " : "arrays ") + quoted,
                          {held.empty() ? "it holds no arrays" : "it holds: " + held,
                           "arrays are found by their names: np.savez(\"" + path + "\", **{" + keywords + "})"}});
    }
  }

  Problem readEntry(Archive &archive, const std::string &path, const std::string &entry, const pmap_leaf &leaf,
                    Input &input) {
    if (!archive.has(entry)) {
      missing[path].push_back(entry);
      return {};
    }
    Problem problem = archive.read(entry, input.array);
    return problem ? problem : checkType(leaf, input);
  }

  /// What to do where a record is given as something else than an archive.
  Problem notAnArchive(const pmap_leaf &leaf, const Input &input, const std::string &name, const std::string &got) {
    std::string keywords;
    for (int32_t i = 0; i < signature.parameter_count; ++i) {
      std::string each = signature.parameters[i].name;
      if (covers(name, each))
        keywords += (keywords.empty() ? "'" : ", '") + each.substr(name.size() + 1) + "': ...";
    }
    return {
        "E1014",
        input.origin,
        "'" + name + "' has several parts and is read from a .npz archive, got " + got,
        {"save one with np.savez(\"" + name + ".npz\", **{" + keywords + "}) and give " + name + "=" + name + ".npz",
         std::string("or give each part by itself, as in ") + leaf.name + "=..."}};
  }

  void checkNames(const std::vector<std::pair<std::string, std::string>> &given) {
    std::vector<std::string> names;
    for (int32_t i = 0; i < signature.parameter_count; ++i) {
      std::string leaf = signature.parameters[i].name;
      for (const std::string &name : {rootOf(leaf), leaf})
        if (std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
    }
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string &name = given[i].first;
      bool known = false;
      for (int32_t p = 0; p < signature.parameter_count; ++p)
        known |= covers(name, signature.parameters[p].name);
      if (!known) {
        Problem problem{"E1012", "", std::string(signature.name) + " has no input '" + name + "'", {}};
        std::string suggestion = closest(name, names);
        if (!suggestion.empty())
          problem.notes.push_back("did you mean '" + suggestion + "'?");
        problems.push_back(problem);
      }
      for (size_t j = 0; j < i; ++j)
        if (given[j].first == name) {
          problems.push_back({"E1013", "", "input '" + name + "' is given twice", {}});
          break;
        }
    }
  }

  Problem load(const pmap_leaf &leaf, const std::string &name, const std::string &value, Input &input) {
    size_t colon = value.rfind(".npz:");
    if (colon != std::string::npos) {
      Problem problem;
      Archive *archive = archives.get(value.substr(0, colon + 4), problem);
      if (!archive)
        return problem;
      // `m=d.npz:model` of a record takes the entries below `model`.
      std::string entry = value.substr(colon + 5) + std::string(leaf.name).substr(name.size());
      return readEntry(*archive, value.substr(0, colon + 4), entry, leaf, input);
    }
    if (value.ends_with(".npz")) {
      Problem problem;
      Archive *archive = archives.get(value, problem);
      if (!archive)
        return problem;
      // Leaves are found by their names below the given one (as results are written), or by their full names.
      std::string below = name.size() < strlen(leaf.name) ? leaf.name + name.size() + 1 : "";
      bool isBelow = !below.empty() && (archive->has(below) || !archive->has(leaf.name));
      std::string entry = isBelow ? below : leaf.name;
      if (!archive->has(entry) && below.empty() && archive->names().size() == 1)
        entry = archive->names()[0];
      return readEntry(*archive, value, entry, leaf, input);
    }
    if (value.ends_with(".npy")) {
      if (name != leaf.name)
        return notAnArchive(leaf, input, name, "a .npy file");
      Problem problem = value.find('*') != std::string::npos ? readBlocks(value, input.origin, input.array)
                                                             : readNpy(value, input.array);
      return problem ? problem : checkType(leaf, input);
    }
    if (name != leaf.name)
      return notAnArchive(leaf, input, name, "'" + value + "'");
    Problem problem = parseLiteral(value, leaf.dtype, leaf.rank, input.origin, input.array);
    bool isPath = value.find_first_of("/.") != std::string::npos && isalpha((unsigned char)value.back());
    if (problem && !value.empty() && (isPath || !access(value.c_str(), F_OK)))
      problem.notes.push_back("files are .npy, or .npz with the name of an array, data.npz:x");
    return problem;
  }

  Problem checkType(const pmap_leaf &leaf, Input &input) {
    HostArray &array = input.array;
    std::string got = typeText(array.dtype, array.sizes);
    if (array.dtype != leaf.dtype)
      return {"E1015",
              input.origin,
              std::string("expected dtype ") + pmap_dtype_name(leaf.dtype) + ", got " + pmap_dtype_name(array.dtype),
              {"the file holds " + got + ", input '" + leaf.name + "' is " + leafType(leaf),
               std::string("convert it with np.save(path, array.astype(np.") + numpyName(leaf.dtype) + "))"}};
    if ((int32_t)array.sizes.size() != leaf.rank)
      return {"E1016",
              input.origin,
              "expected rank " + std::to_string(leaf.rank) + ", got rank " + std::to_string(array.sizes.size()),
              {"the file holds " + got + ", input '" + leaf.name + "' is " + leafType(leaf)}};
    return {};
  }

  static std::string numpyName(int32_t dtype) {
    switch (kindOf(dtype)) {
    case 'b':
      return "bool_";
    case 'i':
      return "int" + std::to_string(pmap_dtype_bytes(dtype) * 8);
    case 'u':
      return "uint" + std::to_string(pmap_dtype_bytes(dtype) * 8);
    default:
      return "float" + std::to_string(pmap_dtype_bytes(dtype) * 8);
    }
  }
};

/// Where a symbol got its value, for messages.
struct Birth {
  int64_t value;
  std::string where; ///< `dimension 0 of x`.
};

} // namespace

void pmap::rt::readInputs(const pmap_signature &signature,
                          const std::vector<std::pair<std::string, std::string>> &given, std::vector<Input> &inputs,
                          std::vector<Problem> &problems) {
  inputs.resize((size_t)signature.parameter_count);
  Reader(signature, problems).read(given, inputs);
}

void pmap::rt::bindSizes(const pmap_signature &signature, const std::vector<Input> &inputs, Symbols &symbols,
                         std::vector<Problem> &problems) {
  std::map<std::string, Birth> births;
  auto leafAt = [&](int32_t i) -> const pmap_leaf & { return signature.parameters[i]; };
  auto bind = [&](const std::string &symbol, int64_t value, const std::string &where) {
    births[symbol] = {value, where};
    symbols[symbol] = value;
  };
  auto dimensionText = [&](int32_t leaf, int32_t d) {
    return "dimension " + std::to_string(d) + " of " + leafAt(leaf).name;
  };
  // Symbols that stand alone first: most dimensions do, and the rest is computed from them.
  for (int32_t i = 0; i < signature.parameter_count; ++i)
    for (int32_t d = 0; d < leafAt(i).rank; ++d) {
      std::string size = leafAt(i).sizes[d];
      int64_t got = inputs[(size_t)i].array.sizes[(size_t)d];
      if (!isSymbol(size))
        continue;
      auto born = births.find(size);
      if (born == births.end())
        bind(size, got, dimensionText(i, d));
      else if (born->second.value != got)
        problems.push_back({"E1017",
                            inputs[(size_t)i].origin,
                            "sizes differ: " + dimensionText(i, d) + " is " + std::to_string(got) + ", expected " +
                                size + " = " + std::to_string(born->second.value) + " from " + born->second.where,
                            {}});
    }
  // An integer parameter of a symbol's name is that size.
  for (int32_t i = 0; i < signature.parameter_count; ++i) {
    const pmap_leaf &leaf = leafAt(i);
    bool isSize = false;
    for (int32_t s = 0; s < signature.symbol_count; ++s)
      isSize |= !strcmp(signature.symbols[s], leaf.name);
    if (!isSize || leaf.rank || strchr("bfk", kindOf(leaf.dtype)))
      continue;
    const char *data = inputs[(size_t)i].array.data;
    int64_t value =
        kindOf(leaf.dtype) == 'i' ? loadSigned(leaf.dtype, data, 0) : (int64_t)loadUnsigned(leaf.dtype, data, 0);
    auto born = births.find(leaf.name);
    if (born == births.end() && value >= 0)
      bind(leaf.name, value, std::string("input ") + leaf.name);
    else if (value < 0)
      problems.push_back(
          {"E1017", inputs[(size_t)i].origin, "expected a size, at least 0, got " + std::to_string(value), {}});
    else if (born->second.value != value)
      problems.push_back({"E1017",
                          inputs[(size_t)i].origin,
                          "sizes differ: " + std::string(leaf.name) + " is " + std::to_string(value) + ", " +
                              born->second.where + " is " + std::to_string(born->second.value),
                          {}});
  }
  for (int32_t i = 0; i < signature.parameter_count; ++i)
    for (int32_t d = 0; d < leafAt(i).rank; ++d) {
      std::string size = leafAt(i).sizes[d];
      int64_t got = inputs[(size_t)i].array.sizes[(size_t)d];
      if (isSymbol(size))
        continue;
      std::vector<std::string> open;
      for (const std::string &symbol : symbolsOf(size))
        if (!symbols.count(symbol))
          open.push_back(symbol);
      if (open.size() == 1) {
        // One unknown, and sizes are nearly always linear in it: solve a*k + b = got.
        Symbols trial = symbols;
        trial[open[0]] = 0;
        auto at0 = evaluateSize(size, trial);
        trial[open[0]] = 1;
        auto at1 = evaluateSize(size, trial);
        int64_t slope = at0 && at1 ? *at1 - *at0 : 0;
        if (slope && (got - *at0) % slope == 0 && (got - *at0) / slope >= 0)
          bind(open[0], (got - *at0) / slope, dimensionText(i, d));
      }
      auto wanted = evaluateSize(size, symbols);
      if (wanted == got)
        continue;
      bool constant = symbolsOf(size).empty();
      Problem problem{"E1017",
                      inputs[(size_t)i].origin,
                      dimensionText(i, d) + " is " + std::to_string(got) + ", expected " + size +
                          (wanted && !constant ? " = " + std::to_string(*wanted) : ""),
                      {}};
      for (const std::string &symbol : symbolsOf(size))
        if (births.count(symbol))
          problem.notes.push_back(symbol + " = " + std::to_string(births[symbol].value) + " from " +
                                  births[symbol].where);
      problems.push_back(problem);
    }
  for (int32_t s = 0; s < signature.symbol_count && problems.empty(); ++s)
    if (!symbols.count(signature.symbols[s]))
      problems.push_back({"E1017", "", "no input says how large '" + std::string(signature.symbols[s]) + "' is", {}});
  if (!problems.empty())
    problems.back().notes.push_back(std::string("the signature is ") + signature.declaration);
}
