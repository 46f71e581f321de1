// `pmap-pack-entries`: bodies for the packed forms `void f.packed(void **args)` of entry points and device bodies.
//
// It runs on the LLVM dialect, where a memref has become its pointers, offset, sizes and strides. What the function looked
// like before is in the attributes that `declarePacked` left on it.
#include "compiler/Lower/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

class Packing {
public:
  Packing(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp packed)
      : function(function), packed(packed), loc(function.getLoc()), builder(function.getContext()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())), i64(builder.getI64Type()) {}

  void run() {
    Block *entry = packed.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    SmallVector<Value> operands;
    for (Attribute type : function->getAttrOfType<ArrayAttr>("pmap.packed_arguments"))
      unpack(cast<TypeAttr>(type).getValue(), operands);
    auto call = LLVM::CallOp::create(builder, loc, function, operands);
    ArrayRef<Attribute> results = function->getAttrOfType<ArrayAttr>("pmap.packed_results").getValue();
    for (size_t index = 0; index < results.size(); ++index) {
      Value value = call.getResult();
      if (results.size() > 1)
        value = LLVM::ExtractValueOp::create(builder, loc, value, ArrayRef<int64_t>{static_cast<int64_t>(index)});
      if (value.getType().isInteger(1))
        value = LLVM::ZExtOp::create(builder, loc, builder.getI8Type(), value);
      LLVM::StoreOp::create(builder, loc, value, nextSlot());
    }
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    function->removeAttr("pmap.packed_arguments");
    function->removeAttr("pmap.packed_results");
    // Only the packed form is called from outside.
    function.setLinkage(LLVM::Linkage::Internal);
  }

private:
  Value element(Type type, Value base, int32_t index) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{index});
    return LLVM::LoadOp::create(builder, loc, type, place);
  }

  Value nextSlot() { return element(pointer, packed.getArgument(0), slot++); }

  /// The operands that the converted function takes for one argument.
  void unpack(Type type, SmallVectorImpl<Value> &operands) {
    Value storage = nextSlot();
    if (auto array = dyn_cast<RankedTensorType>(type)) {
      // Every field of a descriptor is 8 bytes: two pointers, then integers.
      for (int32_t field = 0; field < 3 + 2 * array.getRank(); ++field)
        operands.push_back(element(field < 2 ? pointer : i64, storage, field));
    } else if (type.isInteger(1)) {
      operands.push_back(LLVM::TruncOp::create(builder, loc, type, element(builder.getI8Type(), storage, 0)));
    } else {
      operands.push_back(element(type.isIndex() ? i64 : type, storage, 0));
    }
  }

  LLVM::LLVMFuncOp function, packed;
  Location loc;
  OpBuilder builder;
  Type pointer, i64;
  int32_t slot = 0;
};

struct PackEntriesPass : PassWrapper<PackEntriesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackEntriesPass)
  StringRef getArgument() const final { return "pmap-pack-entries"; }
  StringRef getDescription() const final { return "Give the packed forms of entry points and device bodies their bodies"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (!function->hasAttr("pmap.packed_arguments"))
        continue;
      auto packed = module.lookupSymbol<LLVM::LLVMFuncOp>((function.getName() + ".packed").str());
      if (!packed) {
        function.emitError("has no declaration of its packed form");
        return signalPassFailure();
      }
      Packing(function, packed).run();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPackEntriesPass() { return std::make_unique<PackEntriesPass>(); }

} // namespace pmap
