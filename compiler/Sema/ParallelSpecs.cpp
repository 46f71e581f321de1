// Reading meshes and specs (P1, P2).

#include "compiler/Sema/Parallel.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

int64_t Mesh::sizeOf(StringRef axis) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == axis)
      return sizes[i];
  return -1;
}

int64_t Mesh::literalProduct() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size > 0 ? size : 1;
  return product;
}

Size Mesh::outerSize(StringRef axis) const {
  int64_t literal = sizeOf(axis);
  if (literal > 0)
    return Size(literal);
  return Size::exactQuotient(Size::axis("devices"), Size(literalProduct()));
}

Size Mesh::outerProduct(ArrayRef<std::string> some) const {
  Size product(1);
  for (const std::string &axis : some)
    product *= outerSize(axis);
  return product;
}

SmallVector<mlir::StringAttr, 2> sema::axisAttributes(mlir::MLIRContext *context, ArrayRef<std::string> axes) {
  SmallVector<mlir::StringAttr, 2> attributes;
  for (const std::string &axis : axes)
    attributes.push_back(mlir::StringAttr::get(context, axis));
  return attributes;
}

MeshAttr Mesh::attribute(mlir::MLIRContext *context) const {
  return MeshAttr::get(context, axisAttributes(context, axes), sizes, devices);
}

Spec Spec::replicated(int64_t rank) {
  Spec spec;
  spec.dims.resize(rank);
  return spec;
}

bool Spec::isReplicated() const {
  return llvm::all_of(dims, [](const AxisNames &axes) { return axes.empty(); });
}

VarySet Spec::vary(mlir::MLIRContext *context) const {
  VarySet all;
  for (const AxisNames &axes : dims)
    all = unionOf(all, sorted(axisAttributes(context, axes)));
  return all;
}

SpecAttr Spec::attribute(mlir::MLIRContext *context) const {
  SmallVector<mlir::ArrayAttr, 4> lists;
  for (const AxisNames &axes : dims) {
    SmallVector<mlir::Attribute, 2> names;
    for (mlir::StringAttr name : axisAttributes(context, axes))
      names.push_back(name);
    lists.push_back(mlir::ArrayAttr::get(context, names));
  }
  return SpecAttr::get(context, lists);
}

static std::string quoted(ArrayRef<std::string> names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "\"" : ", \"") + name + "\"";
  return text;
}

//===--- Axis names -------------------------------------------------------------------------------------------===//

std::optional<AxisNames> sema::readAxisNames(Elaborator &e, const Value &value, StringRef what) {
  if (!value || value.isError())
    return std::nullopt;
  ArrayRef<Value> elements(value);
  if (const auto *list = value.as<ListValue>())
    elements = list->elements;
  else if (const auto *tuple = value.as<TupleValue>())
    elements = tuple->elements;
  AxisNames names;
  for (const Value &element : elements) {
    const auto *name = element.as<StringValue>();
    if (element.isError())
      return std::nullopt;
    if (!name)
      return e.error(Code::E0718, element.range(),
                     what + ": expected an axis name such as \"data\", got " + describeKind(element));
    auto belongs = [](unsigned char c) { return llvm::isAlnum(c) || c == '_' || c >= 0x80; };
    if (name->text.empty() || !llvm::all_of(name->text, belongs))
      return e.error(Code::E0718, element.range(),
                     what + ": expected an axis name of letters, digits and `_`, got \"" + name->text + "\"");
    if (llvm::is_contained(names, name->text))
      return e.error(Code::E0718, element.range(), what + ": the axis \"" + name->text + "\" is named twice");
    names.push_back(name->text);
  }
  if (names.empty())
    return e.error(Code::E0718, value.range(), what + ": expected an axis name, got none");
  return names;
}

std::optional<AxisNames> sema::readMeshAxes(Elaborator &e, const Value &value, SourceRange range, StringRef what) {
  auto names = readAxisNames(e, value, what);
  if (!names)
    return std::nullopt;
  AxisNames known;
  for (const MeshContext &mesh : e.meshes) {
    if (mesh.open)
      return names;
    if (!mesh.anonymous)
      known.append(mesh.axes.begin(), mesh.axes.end());
  }
  if (known.empty()) {
    Report report =
        e.error(Code::E0705, range, what + " works between the devices of a pmap, and there is none around it");
    if (!e.meshes.empty() && e.meshes.back().madeBy == "vmap")
      report.note(e.meshes.back().range, "to combine the rows of this vmap, name its axis: `axis: \"rows\"`");
    return report;
  }
  for (const std::string &name : *names)
    if (!llvm::is_contained(known, name)) {
      Report report = e.error(Code::E0704, value.range(),
                              what + ": expected an axis of the mesh, " + quoted(known) + ", got \"" + name + "\"");
      for (const MeshContext &mesh : e.meshes)
        if (mesh.range.isValid())
          report.note(mesh.range, mesh.isVmap ? "a " + mesh.madeBy + " is here" : "the mesh is made here");
      return report;
    }
  return names;
}

//===--- Meshes -----------------------------------------------------------------------------------------------===//

static std::optional<int64_t> literalInt(const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return integer->value;
  if (const auto *size = value.as<SizeValue>())
    return size->polynomial.constant();
  return std::nullopt;
}

static bool tooManyDevices(Elaborator &e, SourceRange range) {
  e.error(Code::E0703, range, "there are at most " + std::to_string(kMostDevices) + " devices");
  return false;
}

/// `devices: 4` or `devices: [0, 2]`: how many, and which.
static bool readDevices(Elaborator &e, const Value &devices, Mesh &mesh, std::optional<int64_t> &count) {
  if (!devices)
    return true;
  if (devices.isError())
    return false;
  if (auto number = literalInt(devices)) {
    if (*number < 1) {
      e.error(Code::E0703, devices.range(), "`devices:` must be at least 1, got " + std::to_string(*number));
      return false;
    }
    if (*number > kMostDevices)
      return tooManyDevices(e, devices.range());
    count = *number;
    return true;
  }
  const auto *list = devices.as<ListValue>();
  if (!list || list->elements.empty()) {
    e.error(Code::E0703, devices.range(),
            "`devices:` must be a number or a list of device numbers such as [0, 2], got " + describeKind(devices));
    return false;
  }
  for (const Value &element : list->elements) {
    auto number = literalInt(element);
    if (!number || *number < 0) {
      e.error(Code::E0703, element.range(), "a device number must be a literal of at least 0");
      return false;
    }
    if (*number >= kMostDevices)
      return tooManyDevices(e, element.range());
    if (llvm::is_contained(mesh.devices, *number)) {
      e.error(Code::E0703, element.range(), "device " + std::to_string(*number) + " is named twice");
      return false;
    }
    mesh.devices.push_back(*number);
  }
  count = int64_t(mesh.devices.size());
  return true;
}

std::optional<Mesh> sema::readMesh(Elaborator &e, const Value &axis, const Value &shape, const Value &devices,
                                   SourceRange range) {
  Mesh mesh;
  mesh.range = range;
  if (axis && shape)
    return e.error(Code::E0703, axis.range(), "expected `axis:` or `mesh:`, got both");
  if (shape) {
    const auto *record = shape.as<TupleValue>();
    if (shape.isError())
      return std::nullopt;
    if (!record || !record->isRecord())
      return e.error(Code::E0703, shape.range(),
                     "`mesh:` names its axes, as in `(a: 2, b: _)`, got " + describeKind(shape));
    int64_t product = 1;
    for (auto [name, size] : llvm::zip(record->names, record->elements)) {
      auto literal = literalInt(size);
      if (!literal && !size.is(ValueKind::Hole))
        return e.error(Code::E0703, size.range(),
                       "the size of the axis \"" + name + "\" must be a literal or `_`, got " + describeKind(size));
      if (literal && *literal < 1)
        return e.error(Code::E0703, size.range(),
                       "the size of the axis \"" + name + "\" must be at least 1, got " + std::to_string(*literal));
      if (literal && *literal > kMostDevices / product) {
        tooManyDevices(e, size.range());
        return std::nullopt;
      }
      product *= literal.value_or(1);
      if (!literal && mesh.isOpen())
        return e.error(Code::E0703, size.range(), "only one size of a mesh may be `_`, got two");
      mesh.axes.push_back(name);
      mesh.sizes.push_back(literal ? *literal : -1);
    }
  } else {
    AxisNames names = {"devices"};
    if (axis) {
      auto given = readAxisNames(e, axis, "`axis:`");
      if (!given)
        return std::nullopt;
      if (given->size() != 1)
        return e.error(Code::E0703, axis.range(), "`axis:` names one axis; several need `mesh: (a: 2, b: _)`");
      names = *given;
    }
    mesh.axes = names;
    mesh.sizes = {-1};
  }
  std::optional<int64_t> count;
  if (!readDevices(e, devices, mesh, count))
    return std::nullopt;
  if (count) {
    int64_t others = mesh.literalProduct();
    if (mesh.isOpen() ? *count % others != 0 : *count != others)
      return e.error(Code::E0703, devices.range(),
                     std::to_string(*count) + " devices do not make up a mesh of " +
                         (mesh.isOpen() ? "a multiple of " : "") + std::to_string(others));
    for (int64_t &size : mesh.sizes)
      if (size < 0)
        size = *count / others;
  }
  return mesh;
}

//===--- Specs ------------------------------------------------------------------------------------------------===//

std::optional<Spec> sema::readSpec(Elaborator &e, const Mesh &mesh, const Value &value, int64_t rank,
                                   const std::string &subject) {
  if (!value || value.isError())
    return std::nullopt;
  Spec spec = Spec::replicated(rank);
  if (value.is(ValueKind::Hole))
    return spec;
  if (auto dim = literalInt(value)) {
    if (rank == 0)
      return e.error(Code::E0713, value.range(),
                     subject + " is a scalar, which has no dimension to split: expected `_`, got " +
                         std::to_string(*dim));
    if (*dim < -rank || *dim >= rank)
      return e.error(Code::E0702, value.range(),
                     subject + " has " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions") +
                         ": expected a dimension from " + std::to_string(-rank) + " to " + std::to_string(rank - 1) +
                         ", got " + std::to_string(*dim));
    // A lone dimension is split over the whole mesh.
    spec.dims[*dim < 0 ? *dim + rank : *dim] = mesh.axes;
    return spec;
  }
  const auto *list = value.as<ListValue>();
  if (!list)
    return e.error(Code::E0702, value.range(),
                   subject + ": a spec is a dimension, `_`, or one entry per dimension such as [\"" + mesh.axes[0] +
                       "\", _], got " + describeKind(value));
  if (int64_t(list->elements.size()) != rank)
    return e.error(Code::E0702, value.range(),
                   subject + " has " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions") +
                       ", and the spec has " + std::to_string(list->elements.size()) +
                       (list->elements.size() == 1 ? " entry" : " entries"));
  AxisNames used;
  for (auto [dim, entry] : llvm::enumerate(list->elements)) {
    if (entry.is(ValueKind::Hole))
      continue;
    auto names = readAxisNames(e, entry, "the spec of " + subject);
    if (!names)
      return std::nullopt;
    for (const std::string &name : *names) {
      if (!mesh.has(name))
        return e.error(Code::E0702, entry.range(),
                       "the spec of " + subject + ": expected an axis of the mesh, " + quoted(mesh.axes) + ", got \"" +
                           name + "\"");
      if (llvm::is_contained(used, name))
        return e.error(Code::E0702, entry.range(), "the spec of " + subject + " uses the axis \"" + name + "\" twice");
      used.push_back(name);
    }
    spec.dims[dim] = *names;
  }
  return spec;
}

std::optional<Value> sema::specOfParameter(Elaborator &e, const Value &in, const FunctionValue &function,
                                           unsigned position) {
  const auto *tuple = in ? in.as<TupleValue>() : nullptr;
  if (!tuple)
    return in;
  if (!tuple->isRecord()) {
    // What is always named, as `axis:` of a builtin, has no place in a tuple.
    auto isPositional = [](const Parameter &parameter) { return !parameter.namedOnly; };
    ArrayRef<Parameter> parameters(function.parameters);
    size_t positional = llvm::count_if(parameters, isPositional);
    if (tuple->elements.size() == positional)
      return isPositional(parameters[position])
                 ? tuple->elements[llvm::count_if(parameters.take_front(position), isPositional)]
                 : Value();
    e.error(Code::E0702, in.range(),
            "`in:` has " + std::to_string(tuple->elements.size()) + " specs, and " + function.name + " has " +
                std::to_string(positional) + (positional == 1 ? " parameter" : " parameters"));
    return std::nullopt;
  }
  for (const std::string &name : tuple->names)
    if (llvm::none_of(function.parameters, [&](const Parameter &p) { return p.name == name; })) {
      e.error(Code::E0702, in.range(), "`in:` names '" + name + "', which is no parameter of " + function.name);
      return std::nullopt;
    }
  int place = tuple->find(function.parameters[position].name);
  return place < 0 ? Value::hole(in.range()) : tuple->elements[place];
}

bool sema::spreadSpecs(Elaborator &e, const Value &value, const Value &spec, llvm::SmallVectorImpl<Value> &specs,
                       const std::string &subject) {
  const auto *tuple = value.as<TupleValue>();
  if (!tuple) {
    specs.push_back(spec);
    return true;
  }
  const auto *parts = spec ? spec.as<TupleValue>() : nullptr;
  if (!parts) {
    for (const Value &element : tuple->elements)
      if (!spreadSpecs(e, element, spec, specs, subject))
        return false;
    return true;
  }
  if (parts->isRecord()) {
    for (const std::string &name : parts->names)
      if (tuple->find(name) < 0) {
        e.error(Code::E0702, spec.range(), subject + " has no field '" + name + "' that the spec names");
        return false;
      }
  } else if (parts->elements.size() != tuple->elements.size()) {
    e.error(Code::E0702, spec.range(),
            subject + " has " + std::to_string(tuple->elements.size()) + " parts, and the spec has " +
                std::to_string(parts->elements.size()));
    return false;
  }
  for (size_t i = 0; i < tuple->elements.size(); ++i) {
    Value part;
    if (!parts->isRecord()) {
      part = parts->elements[i];
    } else {
      // What a named spec leaves out is replicated.
      int position = tuple->isRecord() ? parts->find(tuple->names[i]) : -1;
      part = position < 0 ? Value::hole(spec.range()) : parts->elements[position];
    }
    if (!spreadSpecs(e, tuple->elements[i], part, specs, subject))
      return false;
  }
  return true;
}

void sema::registerParallelBuiltins(BuiltinTable &table) {
  registerMapBuiltins(table);
  registerCollectiveBuiltins(table);
  registerDistributedBuiltins(table);
  registerCmapBuiltins(table);
}
