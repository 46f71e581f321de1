#include "compiler/Lower/Constants.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {

SourcePlace placeOf(Location loc) {
  if (auto file = dyn_cast<FileLineColRange>(loc))
    return {file.getFilename().getValue(), static_cast<int32_t>(file.getStartLine()),
            static_cast<int32_t>(file.getStartColumn())};
  if (auto named = dyn_cast<NameLoc>(loc))
    return placeOf(named.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return placeOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (SourcePlace place = placeOf(part); place.line)
        return place;
  return {};
}

static LLVM::LLVMPointerType pointerType(MLIRContext *context) { return LLVM::LLVMPointerType::get(context); }

/// A constant struct whose fields `fill` makes inside the global's initializer.
static LLVM::GlobalOp structGlobal(ModuleOp module, Location loc, StringRef name, ArrayRef<Type> fields,
                                   function_ref<SmallVector<Value>(OpBuilder &)> fill) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMStructType::getLiteral(module.getContext(), fields);
  auto global =
      LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, Attribute());
  builder.createBlock(&global.getInitializerRegion());
  SmallVector<Value> values = fill(builder);
  Value aggregate = LLVM::UndefOp::create(builder, loc, type);
  for (auto [index, value] : llvm::enumerate(values))
    aggregate = LLVM::InsertValueOp::create(builder, loc, aggregate, value, static_cast<int64_t>(index));
  LLVM::ReturnOp::create(builder, loc, aggregate);
  return global;
}

StringRef Constants::textGlobal(Location loc, StringRef text) {
  std::string &name = globals["t" + text.str()];
  if (!name.empty())
    return name;
  name = prefix + "text." + std::to_string(globals.size());
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  std::string bytes = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                         builder.getStringAttr(bytes));
  return name;
}

StringRef Constants::siteGlobal(Location loc, StringRef text) {
  SourcePlace place = placeOf(loc);
  std::string key = (Twine("s") + place.file + ":" + Twine(place.line) + ":" + Twine(place.column) + ":" + text).str();
  std::string &name = globals[key];
  if (!name.empty())
    return name;
  name = prefix + "site." + std::to_string(globals.size());
  // StringMap references stay valid while texts are added: its entries are allocated one by one.
  std::string file = textGlobal(loc, place.file).str(), extra = text.empty() ? "" : textGlobal(loc, text).str();
  Type pointer = pointerType(module.getContext()), i32 = IntegerType::get(module.getContext(), 32);
  structGlobal(module, loc, name, {pointer, i32, i32, pointer}, [&](OpBuilder &builder) {
    Value null = LLVM::ZeroOp::create(builder, loc, pointer);
    return SmallVector<Value>{LLVM::AddressOfOp::create(builder, loc, pointer, file),
                              LLVM::ConstantOp::create(builder, loc, i32, place.line),
                              LLVM::ConstantOp::create(builder, loc, i32, place.column),
                              extra.empty() ? null : Value(LLVM::AddressOfOp::create(builder, loc, pointer, extra))};
  });
  return name;
}

Value Constants::text(OpBuilder &builder, Location loc, StringRef text) {
  return LLVM::AddressOfOp::create(builder, loc, pointerType(module.getContext()), textGlobal(loc, text));
}

Value Constants::site(OpBuilder &builder, Location loc, StringRef text) {
  return LLVM::AddressOfOp::create(builder, loc, pointerType(module.getContext()), siteGlobal(loc, text));
}

Value Constants::table(OpBuilder &builder, Location loc, ArrayRef<int32_t> values) {
  std::string key = "i";
  for (int32_t value : values)
    key += std::to_string(value) + ",";
  std::string &name = globals[key];
  if (name.empty()) {
    name = prefix + "table." + std::to_string(globals.size());
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    // An empty table has one element that nobody reads.
    SmallVector<int32_t> elements(values);
    if (elements.empty())
      elements.push_back(0);
    auto type = LLVM::LLVMArrayType::get(top.getI32Type(), elements.size());
    LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           top.getI32TensorAttr(elements));
  }
  return LLVM::AddressOfOp::create(builder, loc, pointerType(module.getContext()), name);
}

Value Constants::mapDescriptor(OpBuilder &builder, Location loc, StringRef body, StringRef layout) {
  std::string name = prefix + "map." + std::to_string(globals.size());
  globals["m" + name] = name;
  std::string site = siteGlobal(loc, "").str(), layoutText = textGlobal(loc, layout).str();
  Type pointer = pointerType(module.getContext());
  structGlobal(module, loc, name, {pointer, pointer, pointer}, [&](OpBuilder &init) {
    return SmallVector<Value>{LLVM::AddressOfOp::create(init, loc, pointer, site),
                              LLVM::AddressOfOp::create(init, loc, pointer, body),
                              LLVM::AddressOfOp::create(init, loc, pointer, layoutText)};
  });
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

SymbolRefAttr declareRuntimeFunction(ModuleOp module, StringRef name, FunctionType type,
                                     ArrayRef<StringRef> llvmAttributes) {
  if (!module.lookupSymbol(name)) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(builder, module.getLoc(), name, type);
    function.setPrivate();
    if (!llvmAttributes.empty())
      function->setAttr("passthrough", builder.getStrArrayAttr(llvmAttributes));
  }
  return FlatSymbolRefAttr::get(module.getContext(), name);
}

StringRef declarePacked(ModuleOp module, Location loc, StringRef function) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {pointerType(module.getContext())});
  return LLVM::LLVMFuncOp::create(builder, loc, (function + ".packed").str(), type).getName();
}

} // namespace pmap
