// The layout text's parser, and mesh arithmetic.

#include "runtime/host/Layout.h"
#include "runtime/core/Context.h"

#include <cstdlib>
#include <cstring>
#include <map>

using namespace pmap::rt;

namespace {

class Parser {
public:
  Parser(const char *text, Layout &layout) : at(text), layout(layout) {}

  void parse() {
    while (skip(), *at && layout.malformed.empty()) {
      std::string word = name();
      if (word == "mesh")
        mesh();
      else if (word == "devices")
        devices();
      else if (word == "size")
        size();
      else if (word == "in")
        layout.inputs.push_back(value());
      else if (word == "out")
        layout.outputs.push_back(value());
      else
        return wrong("a statement");
      expect(';');
    }
    if (layout.axisNames.empty())
      wrong("a mesh");
  }

private:
  const char *at;
  Layout &layout;

  void wrong(const char *wanted) {
    if (layout.malformed.empty())
      layout.malformed = std::string("expected ") + wanted + " at '" + std::string(at).substr(0, 20) + "'";
  }
  void skip() {
    while (*at == ' ' || *at == '\n')
      ++at;
  }
  bool take(char c) {
    skip();
    if (*at != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    char wanted[] = {'\'', c, '\'', 0};
    if (!take(c))
      wrong(wanted);
  }
  std::string name() {
    skip();
    const char *begin = at;
    while (*at && !strchr(" \n;=+,[]\"", *at))
      ++at;
    if (at == begin)
      wrong("a name");
    return std::string(begin, at);
  }
  int64_t number() {
    skip();
    char *end;
    int64_t value = strtoll(at, &end, 10);
    if (end == at)
      wrong("a number");
    at = end;
    return value;
  }
  int32_t axis() {
    std::string wanted = name();
    for (size_t i = 0; i < layout.axisNames.size(); ++i)
      if (layout.axisNames[i] == wanted)
        return (int32_t)i;
    wrong("an axis of the mesh");
    return 0;
  }
  AxisList axes() {
    AxisList list;
    if (take('_'))
      return list;
    do
      list.push_back(axis());
    while (take('+') && layout.malformed.empty());
    return list;
  }
  void mesh() {
    while (skip(), *at && *at != ';' && layout.malformed.empty()) {
      layout.axisNames.push_back(name());
      expect('=');
      layout.axisSizes.push_back(number());
    }
  }
  void devices() {
    while (skip(), *at && *at != ';' && layout.malformed.empty())
      layout.devices.push_back((int32_t)number());
  }
  void size() {
    SizeSpec spec;
    spec.axes = axes();
    if (skip(), !strncmp(at, "ragged", 6)) {
      at += 6;
      spec.ragged = true;
    }
    if (take('"')) {
      while (*at && *at != '"')
        spec.label += *at++;
      expect('"');
    }
    layout.sizes.push_back(spec);
  }
  ValueSpec value() {
    ValueSpec spec;
    std::string dtype = name();
    spec.dtype = pmap_dtype_from_name(dtype.c_str());
    if (spec.dtype < 0)
      wrong("a dtype");
    expect('[');
    if (!take(']')) {
      do
        spec.dimensions.push_back(axes());
      while (take(',') && layout.malformed.empty());
      expect(']');
    }
    if (skip(), !strncmp(at, "stack", 5)) {
      at += 5;
      spec.stack = true;
    }
    return spec;
  }
};

} // namespace

const Layout &pmap::rt::layoutOf(const char *text) {
  static SpinLock lock;
  static auto *cache = new std::map<std::string, std::unique_ptr<Layout>, std::less<>>;
  Guard guard(lock);
  auto found = cache->find(std::string_view(text));
  if (found == cache->end()) {
    auto layout = std::make_unique<Layout>();
    Parser(text, *layout).parse();
    found = cache->emplace(text, std::move(layout)).first;
  }
  return *found->second;
}

std::string pmap::rt::meshText(const Layout &layout) {
  std::string text = "(";
  for (size_t i = 0; i < layout.axisNames.size(); ++i)
    text += (i ? ", " : "") + layout.axisNames[i] + ": " +
            (layout.axisSizes[i] < 0 ? "_" : std::to_string(layout.axisSizes[i]));
  return text + ")";
}

void pmap::rt::resolveMesh(const pmap_site *site, const Layout &layout, std::vector<int64_t> &sizes) {
  if (!layout.malformed.empty())
    fail(site, "E1202", "internal error: layout: " + layout.malformed);
  int64_t have = pmap_rt_num_devices();
  int64_t devices = layout.devices.empty() ? have : (int64_t)layout.devices.size();
  for (int32_t device : layout.devices)
    if (device < 0 || device >= have)
      failOfInput(site, "E1121", format("device %d does not exist: the program has %lld", device, (long long)have),
                  format("run with --devices %d", device + 1));
  int64_t fixed = 1;
  bool open = false;
  for (int64_t size : layout.axisSizes)
    size < 0 ? (void)(open = true) : (void)(fixed *= size);
  if (fixed > devices || fixed < 1 || (open && devices % fixed))
    failOfInput(site, "E1121",
                format("mesh %s needs %s%lld devices, the program has %lld", meshText(layout).c_str(),
                       open ? "a multiple of " : "", (long long)fixed, (long long)devices),
                format("run with --devices %lld",
                       (long long)(open ? (devices / std::max<int64_t>(fixed, 1) + 1) * fixed : fixed)));
  sizes.clear();
  for (int64_t size : layout.axisSizes)
    sizes.push_back(size < 0 ? devices / fixed : size);
}

int64_t pmap::rt::partsOf(const AxisList &axes, const std::vector<int64_t> &meshSizes) {
  int64_t parts = 1;
  for (int32_t axis : axes)
    parts *= meshSizes[(size_t)axis];
  return parts;
}

std::vector<int64_t> pmap::rt::coordinatesOf(int64_t rank, const std::vector<int64_t> &meshSizes) {
  std::vector<int64_t> coordinates(meshSizes.size());
  for (size_t i = meshSizes.size(); i-- > 0;) {
    coordinates[i] = rank % meshSizes[i];
    rank /= meshSizes[i];
  }
  return coordinates;
}

int64_t pmap::rt::flatIndex(const AxisList &axes, const std::vector<int64_t> &coordinates,
                            const std::vector<int64_t> &meshSizes) {
  int64_t index = 0;
  for (int32_t axis : axes)
    index = index * meshSizes[(size_t)axis] + coordinates[(size_t)axis];
  return index;
}

int64_t pmap_rt_mesh_axis_size(const pmap_site *site, const char *layout, int32_t axis) {
  static thread_local std::vector<int64_t> *sizes = new std::vector<int64_t>;
  resolveMesh(site, layoutOf(layout), *sizes);
  return (*sizes)[(size_t)axis];
}
