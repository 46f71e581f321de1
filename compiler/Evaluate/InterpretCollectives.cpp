// Collectives, as their definitions read: each device's result from the operands of those it meets.
#include "compiler/Evaluate/ArrayOps.h"
#include "compiler/Evaluate/Interpreter.h"

#include "pmap/runtime.h"
#include <algorithm>

using namespace mlir;

namespace pmap::evaluate {

//===-- Who meets ----------------------------------------------------------------------------------------------------//

static SmallVector<StringRef> namesOf(ArrayAttr axes) {
  return llvm::map_to_vector(axes.getAsRange<StringAttr>(), [](StringAttr axis) { return axis.getValue(); });
}

Devices Interpreter::membersOf(const Meeting &meeting, unsigned device) const {
  // By position along the axes, major first.
  Devices along = mesh->group(device, meeting.axes);
  llvm::sort(along,
             [&](unsigned a, unsigned b) { return mesh->position(a, meeting.axes) < mesh->position(b, meeting.axes); });
  if (!meeting.groups)
    return along;
  int64_t position = mesh->position(device, meeting.axes);
  for (auto group : meeting.groups->getAsRange<DenseI64ArrayAttr>())
    if (llvm::is_contained(group.asArrayRef(), position)) {
      Devices members;
      for (int64_t member : group.asArrayRef())
        members.push_back(along[member]);
      return members;
    }
  return {};
}

/// Where `device` stands among those it meets.
static int64_t placeIn(const Devices &members, unsigned device) {
  return llvm::find(members, device) - members.begin();
}

bool Interpreter::allHere(Operation *op, const Meeting &meeting, Devices &active) {
  // A device that failed never arrives; the others are woken, and its failure is the one reported.
  if (llvm::any_of(failures, [](const auto &failure) { return failure.has_value(); })) {
    active.clear();
    return false;
  }
  if (meeting.groups) {
    SmallVector<int64_t> named;
    for (auto group : meeting.groups->getAsRange<DenseI64ArrayAttr>())
      llvm::append_range(named, group.asArrayRef());
    llvm::sort(named);
    int64_t devices = mesh->axesSize(meeting.axes);
    if (named != llvm::to_vector(llvm::seq<int64_t>(0, devices))) {
      for (unsigned device : active)
        failWith(op, device, "E1123",
                 "groups name " + Twine(named.size()) + " positions, expected each of the " + Twine(devices) +
                     " devices of their axis once");
      return false;
    }
  }
  for (unsigned device : active)
    for (unsigned other : membersOf(meeting, device))
      if (!llvm::is_contained(active, other)) {
        failWith(op, device, "",
                 "device " + Twine(other) + " does not reach a collective that device " + Twine(device) +
                     " waits in (V6)");
        return false;
      }
  return true;
}

//===-- Reductions ---------------------------------------------------------------------------------------------------//

static NDArray convertReal(const NDArray &x, Element element) {
  NDArray result(element, x.shape());
  for (int64_t i = 0; i < x.count(); ++i)
    result.setReal(i, x.real(i));
  return result;
}

/// The members' arrays combined in their order (C1). f16 and bf16 accumulate and travel as f32 (C2).
static NDArray combineAll(ArrayRef<NDArray> members, ReductionKind kind) {
  Element element = members[0].element();
  bool isNarrow = element == Element::F16 || element == Element::BF16;
  auto wide = [&](const NDArray &x) { return isNarrow ? convertReal(x, Element::F32) : x; };
  NDArray total = wide(members[0]);
  for (const NDArray &member : members.drop_front())
    total = combine(total, wide(member), kindOf(kind));
  if (kind == ReductionKind::Mean)
    for (int64_t i = 0; i < total.count(); ++i)
      total.setReal(i, total.real(i) / double(members.size()));
  return isNarrow ? convertReal(total, element) : total;
}

void Interpreter::runAllReduce(AllReduceOp op, Devices &active) {
  Meeting meeting{namesOf(op.getAxes()), op.getGroups()};
  if (!allHere(op, meeting, active))
    return;
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    for (unsigned device : active) {
      // Whatever the order of the axes, or of the members of a group: sums run in that of ranks (C1).
      Devices members = membersOf(meeting, device);
      llvm::sort(members);
      SmallVector<NDArray> arrays;
      for (unsigned member : members)
        arrays.push_back(get(input, member));
      for (const NDArray &array : arrays)
        if (array.shape() != arrays[0].shape())
          return fail(op, device, PMAP_FAIL_SIZES_DIFFER, arrays[0].count(), array.count());
      set(result, device, combineAll(arrays, op.getKind()));
    }
}

void Interpreter::runReduceScatter(ReduceScatterOp op, Devices &active) {
  Meeting meeting{namesOf(op.getAxes()), op.getGroups()};
  if (!allHere(op, meeting, active))
    return;
  for (unsigned device : active) {
    auto shape = shapeOf(op.getType(), op, device);
    if (!shape)
      return;
    Devices members = membersOf(meeting, device);
    SmallVector<int64_t> offsets(shape->size(), 0), ones(shape->size(), 1);
    offsets[op.getDim()] = placeIn(members, device) * (*shape)[op.getDim()];
    SmallVector<NDArray> blocks;
    for (unsigned member : members)
      blocks.push_back(slice(get(op.getInput(), member), *shape, offsets, ones));
    set(op.getResult(), device, combineAll(blocks, ReductionKind::Sum));
  }
}

//===-- Movement -----------------------------------------------------------------------------------------------------//

void Interpreter::runAllGather(AllGatherOp op, Devices &active) {
  Meeting meeting{namesOf(op.getAxes()), op.getGroups()};
  if (!allHere(op, meeting, active))
    return;
  for (unsigned device : active) {
    SmallVector<NDArray> parts;
    for (unsigned member : membersOf(meeting, device)) {
      NDArray part = get(op.getInput(), member);
      if (!op.getTiled()) {
        SmallVector<int64_t> stacked(part.shape());
        stacked.insert(stacked.begin() + op.getDim(), 1);
        part = part.reshaped(stacked);
      }
      parts.push_back(part);
    }
    set(op.getResult(), device, concat(parts, op.getDim()));
  }
}

void Interpreter::runAllToAll(AllToAllOp op, Devices &active) {
  Meeting meeting{namesOf(op.getAxes()), op.getGroups()};
  if (!allHere(op, meeting, active))
    return;
  for (unsigned device : active) {
    Devices members = membersOf(meeting, device);
    SmallVector<NDArray> pieces;
    for (unsigned member : members) {
      const NDArray &whole = get(op.getInput(), member);
      SmallVector<int64_t> piece(whole.shape()), offsets(piece.size(), 0), ones(piece.size(), 1);
      int64_t count = members.size();
      if (piece[op.getSplit()] % count != 0)
        return fail(op, device, PMAP_FAIL_INEXACT, piece[op.getSplit()], count);
      piece[op.getSplit()] /= count;
      offsets[op.getSplit()] = placeIn(members, device) * piece[op.getSplit()];
      pieces.push_back(slice(whole, piece, offsets, ones));
    }
    set(op.getResult(), device, concat(pieces, op.getConcat()));
  }
}

/// What is wrong with a permutation of `devices` positions (C3), or nothing.
static std::string faultOf(ArrayRef<int64_t> destinations, int64_t devices) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (int64_t(destinations.size()) != devices)
    os << "the permutation has " << destinations.size() << " positions, the axis " << devices << " devices";
  for (auto [from, to] : llvm::enumerate(destinations)) {
    if (!text.empty())
      break;
    auto before = destinations.take_front(from);
    if (to < -1 || to >= devices)
      os << "position " << from << " sends to " << to << ", which is none of the axis's " << devices << " devices";
    else if (to >= 0 && llvm::is_contained(before, to))
      os << "positions " << (llvm::find(before, to) - before.begin()) << " and " << from << " both send to " << to;
  }
  return text;
}

void Interpreter::runPermute(PermuteOp op, Devices &active) {
  Meeting meeting{namesOf(op.getAxes()), std::nullopt};
  if (!allHere(op, meeting, active))
    return;
  for (unsigned device : active) {
    Devices members = membersOf(meeting, device);
    const NDArray &table = get(op.getDestinations(), device);
    SmallVector<int64_t> destinations;
    for (int64_t i = 0; i < table.count(); ++i)
      destinations.push_back(table.integer(i));
    if (std::string fault = faultOf(destinations, members.size()); !fault.empty()) {
      failWith(op, device, "E1124", fault);
      continue;
    }
    const auto *source = llvm::find(destinations, placeIn(members, device));
    if (source != destinations.end()) {
      set(op.getResult(), device, get(op.getInput(), members[source - destinations.begin()]));
      continue;
    }
    NDArray filled(get(op.getInput(), device).element(), get(op.getInput(), device).shape());
    for (int64_t i = 0; i < filled.count(); ++i)
      filled.copyElement(i, get(op.getFill(), device), 0);
    set(op.getResult(), device, filled);
  }
}

} // namespace pmap::evaluate
