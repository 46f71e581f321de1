// Flags and `name=value` pairs. One table lists the flags; parsing, help and suggestions derive from it. A dozen flags
// of one form need no command-line library, which would cost an executable more than its whole runtime.

#include "runtime/io/Options.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace pmap::rt;

namespace {

struct Flag {
  const char *name, *argument; ///< A null argument: the flag stands alone.
  const char *help;            ///< Null: known, but not supported by this version.
};

constexpr Flag flags[] = {
    {"--devices", "N", "device threads to run on (default 1, with all cores)"},
    {"--threads", "N", "threads in all, shared among the devices (default: all cores)"},
    {"-o", "FILE", "write the result to FILE.npy, or its parts by name to FILE.npz"},
    {"--time", nullptr, "print what took how long, memory and bytes moved, to standard error"},
    {"--timeout", "S", "fail when a device waits longer than S seconds for the others"},
    {"--deterministic", nullptr, "the same bits on every run (always so on CPU devices)"},
    {"--same", nullptr, "with --devices 1,2,4: run on each, and print how far the results differ"},
    {"--help", nullptr, "print this"},
    {"--sim", nullptr, nullptr},
    {"--profile", "FILE", nullptr},
    {"--nan-trap", nullptr, nullptr},
};

bool wholeNumber(const std::string &text, int32_t &value, int32_t most) {
  char *end;
  errno = 0;
  long number = strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || number < 1 || number > most)
    return false;
  value = (int32_t)number;
  return true;
}

} // namespace

std::vector<Problem> pmap::rt::parseOptions(const pmap_signature &signature, int32_t argc, char **argv,
                                            Options &options) {
  std::vector<Problem> problems;
  auto wrong = [&](std::string message, std::vector<std::string> notes = {}) {
    problems.push_back({"E1010", "", std::move(message), std::move(notes)});
  };
  for (int32_t i = 1; i < argc; ++i) {
    std::string word = argv[i];
    size_t equals = word.find('=');
    if (word.empty() || word[0] != '-') {
      if (equals == std::string::npos || equals == 0) {
        std::string note = "inputs are written name=value";
        if (word.ends_with(".npy") && signature.parameter_count > 0)
          note += std::string(", such as ") + signature.parameters[0].name + "=" + word;
        wrong("expected name=value or a flag, got '" + word + "'", {note});
        continue;
      }
      options.inputs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
      continue;
    }
    std::string name = word.substr(0, equals), value;
    if (name == "-h")
      name = "--help";
    if (name == "--output")
      name = "-o";
    const Flag *flag = nullptr;
    for (const Flag &candidate : flags)
      if (name == candidate.name)
        flag = &candidate;
    if (!flag) {
      std::vector<std::string> names;
      for (const Flag &candidate : flags)
        if (candidate.help)
          names.push_back(candidate.name);
      std::string suggestion = closest(name, names);
      wrong("unknown flag '" + name + "'",
            {suggestion.empty() ? "--help lists the flags" : "did you mean '" + suggestion + "'?"});
      continue;
    }
    if (!flag->help) {
      wrong("flag '" + name + "' is not supported yet");
      if (flag->argument && equals == std::string::npos)
        ++i;
      continue;
    }
    if (flag->argument) {
      if (equals != std::string::npos)
        value = word.substr(equals + 1);
      else if (i + 1 < argc)
        value = argv[++i];
      else {
        wrong("flag '" + name + "' needs a value, " + flag->argument);
        continue;
      }
    } else if (equals != std::string::npos) {
      wrong("flag '" + name + "' takes no value");
      continue;
    }
    if (name == "--threads") {
      if (!wholeNumber(value, options.threads, 1024))
        wrong("expected a number from 1 to 1024 after '--threads', got '" + value + "'");
    } else if (name == "--devices") {
      options.devices.clear();
      for (size_t begin = 0; begin <= value.size();) {
        size_t comma = std::min(value.find(',', begin), value.size());
        int32_t devices = 0;
        if (!wholeNumber(value.substr(begin, comma - begin), devices, 1024)) {
          wrong("expected a number from 1 to 1024 after '--devices', got '" + value + "'");
          break;
        }
        options.devices.push_back(devices);
        begin = comma + 1;
      }
    } else if (name == "--timeout") {
      char *end;
      options.timeout = strtod(value.c_str(), &end);
      if (value.empty() || *end || !(options.timeout > 0) || std::isinf(options.timeout))
        wrong("expected seconds after '--timeout', got '" + value + "'");
    } else if (name == "-o") {
      if (value.empty())
        wrong("expected a file name after '-o'");
      options.output = value;
    } else if (name == "--time") {
      options.time = true;
    } else if (name == "--same") {
      options.same = true;
    } else if (name == "--help") {
      options.help = true;
    }
  }
  if (!problems.empty())
    return problems;
  if (options.devices.size() > 1 && !options.same)
    wrong("several numbers of devices need '--same'", {"it runs on each and compares the results"});
  if (options.same && options.devices.size() < 2)
    wrong("'--same' needs several numbers of devices", {"such as --devices 1,2,4,8 --same"});
  return problems;
}

std::string pmap::rt::leafType(const pmap_leaf &leaf) {
  std::string text = pmap_dtype_name(leaf.dtype);
  for (int32_t i = 0; i < leaf.rank; ++i)
    text += (i ? ", " : "[") + std::string(leaf.sizes[i]);
  return text + (leaf.rank ? "]" : "");
}

std::string pmap::rt::usageLine(const pmap_program &program) {
  std::string text = std::string("usage: ") + program.name;
  for (int32_t i = 0; i < program.signature->parameter_count; ++i) {
    const pmap_leaf &leaf = program.signature->parameters[i];
    text += leaf.default_text ? std::string(" [") + leaf.name + "=" + leaf.default_text + "]"
                              : std::string(" ") + leaf.name + "=...";
  }
  return text + " [flags]";
}

std::string pmap::rt::helpText(const pmap_program &program) {
  const pmap_signature &signature = *program.signature;
  std::string text = usageLine(program) + "\n\n" + signature.declaration + "\n";
  auto indented = [](const char *doc) {
    std::string result = "  ";
    for (const char *at = doc; *at; ++at)
      result += *at == '\n' && at[1] ? "\n  " : *at == '\n' ? "" : std::string(1, *at);
    return result + "\n";
  };
  if (signature.doc && *signature.doc)
    text += indented(signature.doc);
  auto column = [](std::string left, size_t width) {
    left.resize(std::max(left.size() + 2, width), ' ');
    return left;
  };
  size_t width = 16, typeWidth = 12;
  for (int32_t i = 0; i < signature.parameter_count; ++i) {
    width = std::max(width, strlen(signature.parameters[i].name) + 4);
    typeWidth = std::max(typeWidth, leafType(signature.parameters[i]).size() + 2);
  }
  if (signature.parameter_count > 0)
    text += "\ninputs (a number, true, [1, 2, 3], x.npy, or data.npz:x):\n";
  for (int32_t i = 0; i < signature.parameter_count; ++i) {
    const pmap_leaf &leaf = signature.parameters[i];
    std::string line = "  " + column(leaf.name, width - 2) + column(leafType(leaf), typeWidth);
    if (leaf.default_text)
      line += std::string("default ") + leaf.default_text + (leaf.doc ? "; " : "");
    if (leaf.doc)
      line += leaf.doc;
    while (line.back() == ' ')
      line.pop_back();
    text += line + "\n";
  }
  if (signature.result_count > 0)
    text += "\nresult:\n";
  for (int32_t i = 0; i < signature.result_count; ++i) {
    const pmap_leaf &leaf = signature.results[i];
    text += "  " + (*leaf.name ? column(leaf.name, width - 2) : "") + leafType(leaf) + "\n";
  }
  text += "\nflags:\n";
  for (const Flag &flag : flags)
    if (flag.help)
      text += "  " + column(std::string(flag.name) + (flag.argument ? std::string(" ") + flag.argument : ""), 18) +
              flag.help + "\n";
  return text;
}
