// Inputs by name, checked against the signature.

#include "runtime/io/Inputs.h"
#include "runtime/core/Failure.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Files.h"
#include "runtime/io/OddValues.h"
#include "runtime/io/Options.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace pmap::rt;

namespace {

/// The parameter a leaf belongs to: the name up to its first dot.
std::string rootOf(const std::string &leaf) { return leaf.substr(0, leaf.find('.')); }

/// What `x=` may name: a whole parameter or one leaf, or some record on the way.
bool covers(const std::string &given, const std::string &leaf) {
  return leaf == given || (leaf.size() > given.size() && leaf.starts_with(given) && leaf[given.size()] == '.');
}

/// `'a', 'b'`.
std::string quotedList(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
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

  void read(const std::vector<std::pair<std::string, std::string>> &given, std::vector<Input> &inputs,
            std::vector<std::string> &remarks) {
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
    if (problems.size() == before)
      remarkUnread(remarks);
    // The signature once, after the last of them.
    if (problems.size() > before)
      problems.back().notes.push_back(std::string("the signature is ") + signature.declaration);
  }

private:
  const pmap_signature &signature;
  std::vector<Problem> &problems;
  Archives archives;
  /// By archive: the names of the arrays that it lacks, and an input that could take another array by name.
  struct Missing {
    std::vector<std::string> names;
    std::string lone;
  };
  std::map<std::string, Missing> missing;
  /// By archive: the arrays that some input takes.
  std::map<std::string, std::set<std::string>> taken;
  /// Records that are read from an archive: where their parts lie in it.
  struct RecordSource {
    std::string name, path, prefix;
  };
  std::vector<RecordSource> records;

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
    for (const auto &[path, lacks] : missing) {
      const std::vector<std::string> &names = lacks.names;
      std::string keywords, held;
      for (const std::string &name : names)
        keywords += (keywords.empty() ? "'" : ", '") + name + "': ...";
      Problem ignored;
      for (const std::string &entry : archives.get(path, ignored)->names())
        held += (held.empty() ? "" : " ") + entry;
      Problem problem{"E1026",
                      path,
                      std::string("the archive has no ") + (names.size() == 1 ? "array " : "arrays ") +
                          quotedList(names),
                      {held.empty() ? "it holds no arrays" : "it holds: " + held}};
      if (!lacks.lone.empty() && !held.empty())
        problem.notes.push_back("name one of them: " + lacks.lone + "=" + path + ":" + held.substr(0, held.find(' ')));
      else
        problem.notes.push_back("arrays are found by their names: np.savez(\"" + path + "\", **{" + keywords + "})");
      problems.push_back(problem);
    }
  }

  /// A record's archive may hold more than the record, but whoever misnamed a part should hear of it.
  void remarkUnread(std::vector<std::string> &remarks) {
    for (const RecordSource &record : records) {
      Problem ignored;
      std::set<std::string> parts = taken[record.path];
      for (int32_t i = 0; i < signature.parameter_count; ++i)
        if (std::string leaf = signature.parameters[i].name; covers(record.name, leaf) && leaf != record.name)
          parts.insert(record.prefix + leaf.substr(record.name.size() + 1));
      std::vector<std::string> unread;
      for (const std::string &entry : archives.get(record.path, ignored)->names())
        if (entry.starts_with(record.prefix) && !parts.count(entry))
          unread.push_back(entry);
      if (!unread.empty())
        remarks.push_back(record.path + ": note: " + quotedList(unread) + (unread.size() == 1 ? " is" : " are") +
                          " not read: '" + record.name + "' has no such part");
    }
  }

  Problem readEntry(Archive &archive, const std::string &path, const std::string &entry, const pmap_leaf &leaf,
                    Input &input) {
    if (!archive.has(entry)) {
      missing[path].names.push_back(entry);
      return {};
    }
    taken[path].insert(entry);
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
    if ((colon != std::string::npos || value.ends_with(".npz")) && isPattern(value.substr(0, colon)))
      return oddValue(leaf, name, value, {"E1018", input.origin, "a pattern names .npy files", {}});
    if (colon != std::string::npos) {
      Problem problem;
      Archive *archive = archives.get(value.substr(0, colon + 4), problem);
      if (!archive)
        return problem;
      // `m=d.npz:model` of a record takes the entries below `model`.
      std::string path = value.substr(0, colon + 4), prefix = value.substr(colon + 5);
      if (prefix.empty())
        return {"E1014", input.origin, "expected the name of an array after '.npz:'", {}};
      if (name != leaf.name)
        addRecord(name, path, prefix + ".");
      else if (!archive->has(prefix))
        missing[path].lone = name;
      return readEntry(*archive, path, prefix + std::string(leaf.name).substr(name.size()), leaf, input);
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
      if (!below.empty())
        addRecord(name, value, isBelow ? "" : name + ".");
      else if (!archive->has(entry))
        missing[value].lone = name;
      return readEntry(*archive, value, entry, leaf, input);
    }
    if (value.ends_with(".npy")) {
      if (name != leaf.name)
        return notAnArchive(leaf, input, name, "a .npy file");
      Problem problem = isPattern(value) ? readBlocks(value, input.origin, input.array) : readNpy(value, input.array);
      return problem ? problem : checkType(leaf, input);
    }
    if (name != leaf.name)
      return notAnArchive(leaf, input, name, "'" + value + "'");
    Problem problem = parseLiteral(value, leaf.dtype, leaf.rank, input.origin, input.array);
    return problem ? oddValue(leaf, name, value, problem) : problem;
  }

  void addRecord(const std::string &name, const std::string &path, const std::string &prefix) {
    for (const RecordSource &record : records)
      if (record.name == name && record.prefix == prefix)
        return;
    records.push_back({name, path, prefix});
  }

  Problem checkType(const pmap_leaf &leaf, Input &input) {
    HostArray &array = input.array;
    std::string got = typeText(array.dtype, array.sizes);
    if (array.dtype != leaf.dtype)
      return {"E1015",
              input.origin,
              std::string("expected dtype ") + pmap_dtype_name(leaf.dtype) + ", got " + pmap_dtype_name(array.dtype),
              {"the file holds " + got + ", input '" + leaf.name + "' is " + leafType(leaf),
               "convert it with np.save(path, array.astype(" + numpyName(leaf.dtype) + "))"}};
    if ((int32_t)array.sizes.size() != leaf.rank)
      return {"E1016",
              input.origin,
              "expected rank " + std::to_string(leaf.rank) + ", got rank " + std::to_string(array.sizes.size()),
              {"the file holds " + got + ", input '" + leaf.name + "' is " + leafType(leaf)}};
    return {};
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
                          std::vector<Problem> &problems, std::vector<std::string> &remarks) {
  inputs.resize((size_t)signature.parameter_count);
  Reader(signature, problems).read(given, inputs, remarks);
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
