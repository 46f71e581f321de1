#include "compiler/Dialect/IR/Facts.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace pmap;

namespace {

// Calls `visit` for each part of a location with whether the part bears the name.
void visitParts(Location location, StringRef name, bool isNamed, llvm::function_ref<void(bool)> visit) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      visitParts(part, name, isNamed, visit);
    return;
  }
  if (auto nameLoc = dyn_cast<NameLoc>(location))
    return visitParts(nameLoc.getChildLoc(), name, isNamed || nameLoc.getName() == name, visit);
  visit(isNamed);
}

} // namespace

bool pmap::anyPartNamed(Location location, StringRef name) {
  bool any = false;
  visitParts(location, name, false, [&](bool isNamed) { any |= isNamed; });
  return any;
}

bool pmap::allPartsNamed(Location location, StringRef name) {
  bool all = true;
  visitParts(location, name, false, [&](bool isNamed) { all &= isNamed; });
  return all;
}

Location pmap::named(Location location, StringRef name) {
  if (anyPartNamed(location, name))
    return location;
  return NameLoc::get(StringAttr::get(location.getContext(), name), location);
}
