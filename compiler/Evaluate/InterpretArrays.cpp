// What one device does alone: operations without regions and without communication.
#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Dialect/IR/NeedsElements.h"
#include "compiler/Evaluate/ArrayOps.h"
#include "compiler/Evaluate/Elementwise.h"
#include "compiler/Evaluate/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "pmap/runtime.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pmap::evaluate {

ReduceKind kindOf(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Mean:
    return ReduceKind::Sum;
  case ReductionKind::Prod:
    return ReduceKind::Prod;
  case ReductionKind::Max:
    return ReduceKind::Max;
  case ReductionKind::Min:
    return ReduceKind::Min;
  case ReductionKind::MaxU:
    return ReduceKind::MaxUnsigned;
  case ReductionKind::MinU:
    return ReduceKind::MinUnsigned;
  case ReductionKind::And:
    return ReduceKind::And;
  case ReductionKind::Or:
    return ReduceKind::Or;
  }
  llvm_unreachable("no such reduction");
}

NDArray Interpreter::constant(Attribute value, Type type, ArrayRef<int64_t> shape) {
  NDArray result(elementOf(type), shape);
  auto store = [&](int64_t i, Attribute scalar) {
    if (auto number = dyn_cast<FloatAttr>(scalar)) {
      APFloat wide = number.getValue();
      bool losesInfo = false;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      result.setReal(i, wide.convertToDouble());
    } else {
      result.setInteger(i, cast<IntegerAttr>(scalar).getValue().getSExtValue());
    }
  };
  if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
    int64_t i = 0;
    if (elements.isSplat())
      for (; i < result.count(); ++i)
        store(i, elements.getSplatValue<Attribute>());
    else
      for (Attribute scalar : elements.getValues<Attribute>())
        store(i++, scalar);
    return result;
  }
  store(0, value);
  return result;
}

bool Interpreter::checkIndices(Operation *op, unsigned device, const NDArray &indices, bool isUnsigned, int64_t dim,
                               int64_t size) {
  // Where several are wrong the largest is told, negative ones counting as larger than all others: what compiled code
  // finds.
  int64_t worst = 0;
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t index = isUnsigned ? int64_t(indices.unsignedInteger(i)) : indices.integer(i);
    if (uint64_t(index) > uint64_t(worst))
      worst = index;
  }
  if (indices.count() != 0 && uint64_t(worst) >= uint64_t(size)) {
    fail(op, device, PMAP_FAIL_INDEX, worst, dim, size);
    return false;
  }
  return true;
}

bool Interpreter::checkSlice(Operation *op, unsigned device, ArrayRef<int64_t> whole, ArrayRef<int64_t> part,
                             ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides) {
  for (size_t d = 0; d < whole.size(); ++d) {
    int64_t end = part[d] <= 0 ? offsets[d] + part[d] : offsets[d] + (part[d] - 1) * strides[d] + 1;
    if (offsets[d] < 0 || part[d] < 0 || end > whole[d]) {
      fail(op, device, PMAP_FAIL_SLICE, offsets[d], end, whole[d]);
      return false;
    }
  }
  return true;
}

/// A narrow unsigned index reads as a negative number; the array operations want its value.
static NDArray indicesAsI64(const NDArray &indices, bool isUnsigned) {
  NDArray wide(Element::I64, indices.shape());
  for (int64_t i = 0; i < indices.count(); ++i)
    wide.setInteger(i, isUnsigned ? int64_t(indices.unsignedInteger(i)) : indices.integer(i));
  return wide;
}

/// True when `value` is in the range of an integer type.
static bool fits(int64_t value, Type type, bool isUnsigned) {
  unsigned bits = cast<RankedTensorType>(type).getElementType().getIntOrFloatBitWidth();
  if (isUnsigned)
    return value >= 0 && (bits == 64 || uint64_t(value) >> bits == 0);
  return bits == 64 || (value >= -(int64_t(1) << (bits - 1)) && value < int64_t(1) << (bits - 1));
}

static std::string dtypeText(Type type, bool isUnsigned) {
  return (isUnsigned ? "u" : "i") +
         std::to_string(cast<RankedTensorType>(type).getElementType().getIntOrFloatBitWidth());
}

void Interpreter::runPrint(PrintOp op, unsigned device) {
  if (!options.print)
    return;
  SmallVector<NDArray> arrays;
  for (Value value : op.getValues())
    arrays.push_back(isa<DistType>(value.getType()) ? gathered(value, op) : get(value, device));
  SmallVector<StringRef> dtypes;
  for (auto dtype : op.getDtypes().getAsRange<StringAttr>())
    dtypes.push_back(dtype.getValue());
  options.print(op.getFormat(), arrays, dtypes, mesh && mesh->deviceCount() > 1 ? int64_t(device) : -1);
}

void Interpreter::runLocal(Operation *op, unsigned device, SmallVectorImpl<NDArray> &results) {
  // Printing and distributed operands aside, every operation is a function of arrays.
  if (auto print = dyn_cast<PrintOp>(op))
    return runPrint(print, device);
  SmallVector<NDArray, 4> operands = operandsOf(op, device);
  SmallVector<int64_t, 4> shape;
  if (op->getNumResults() == 1) {
    auto found = shapeOf(op->getResult(0).getType(), op, device);
    if (!found)
      return;
    shape = *found;
  }
  auto indices = [&](ValueRange range) {
    SmallVector<int64_t> numbers;
    for (Value value : range)
      numbers.push_back(getIndex(value, device));
    return numbers;
  };
  auto give = [&](NDArray array) { results.push_back(std::move(array)); };

  llvm::TypeSwitch<Operation *>(op)
      .Case([&](arith::ConstantOp op) { give(constant(op.getValue(), op.getType(), shape)); })

      // Whole arrays.
      .Case([&](BroadcastOp op) { give(broadcast(operands[0], shape, op.getDims())); })
      .Case([&](ReduceOp op) {
        if (operands[0].count() != 0 || countOf(shape) == 0 || !needsElements(op))
          return give(reduce(operands[0], kindOf(op.getKind()), op.getDims()));
        fail(op, device, PMAP_FAIL_EMPTY, 0, 0, 0, nameOfExtremum(op));
      })
      .Case([&](ArgReduceOp op) {
        ReduceKind kind = kindOf(op.getKind());
        if (operands[0].dim(op.getDim()) != 0)
          return give(argReduce(operands[0], kind, op.getDim()));
        bool isMax = kind == ReduceKind::Max || kind == ReduceKind::MaxUnsigned;
        fail(op, device, PMAP_FAIL_EMPTY, 0, 0, 0, isMax ? "argmax" : "argmin");
      })
      .Case([&](ScanOp op) { give(scan(operands[0], kindOf(op.getKind()), op.getDim())); })
      .Case([&](DotOp op) {
        give(dot(operands[0], operands[1], op.getLhsBatch(), op.getRhsBatch(), op.getLhsContract(),
                 op.getRhsContract()));
      })
      .Case([&](TransposeOp op) { give(transpose(operands[0], op.getPerm())); })
      .Case([&](ReshapeOp op) {
        if (countOf(shape) == operands[0].count())
          return give(operands[0].reshaped(shape));
        fail(op, device, PMAP_FAIL_RESHAPE, operands[0].count(), countOf(shape));
      })
      .Case([&](ConcatOp op) { give(concat(operands, op.getDim())); })
      .Case([&](ReverseOp op) { give(reverse(operands[0], op.getDims())); })
      .Case([&](RotateOp op) { give(rotate(operands[0], operands[1].integer(), op.getDim())); })
      .Case([&](IotaOp op) { give(iota(elementOf(op.getType()), shape, op.getDim())); })
      .Case([&](PadOp op) {
        SmallVector<int64_t> low, high;
        for (auto [texts, sizes] : {std::pair(op.getLow(), &low), std::pair(op.getHigh(), &high)})
          for (auto text : texts.getAsRange<StringAttr>()) {
            std::optional<int64_t> size = evaluateSize(text.getValue(), op, device);
            if (!size)
              return;
            if (*size < 0)
              return fail(op, device, PMAP_FAIL_NEGATIVE_SIZE, *size, 0, 0, readableSize(text.getValue()));
            sizes->push_back(*size);
          }
        give(pad(operands[0], operands[1], low, high));
      })
      .Case([&](SortOp op) {
        NDArray order = argsort(operands[0], op.getDim(), op.getDescending(), op.getIsUnsigned());
        give(takeAlong(operands[0], order, op.getDim()));
      })
      .Case([&](ArgSortOp op) { give(argsort(operands[0], op.getDim(), op.getDescending(), op.getIsUnsigned())); })
      .Case([&](CastOp op) {
        for (int64_t d = 0; d < operands[0].rank(); ++d)
          if (operands[0].dim(d) != shape[d])
            return fail(op, device, PMAP_FAIL_CAST, shape[d], operands[0].dim(d), d);
        give(operands[0]);
      })

      // Parts of arrays.
      .Case([&](CheckedIndexOp op) {
        int64_t index = operands[0].integer(), size = operands[1].integer();
        if (index < 0 || index >= size)
          return fail(op, device, PMAP_FAIL_INDEX, index, op.getDim(), size);
        give(operands[0]);
      })
      .Case([&](ExtractOp op) {
        NDArray scalar(operands[0].element(), {});
        scalar.copyElement(0, operands[0], offsetOf(indices(op.getIndices()), stridesOf(operands[0].shape())));
        give(scalar);
      })
      .Case([&](SliceOp op) {
        SmallVector<int64_t> offsets = indices(op.getOffsets());
        if (checkSlice(op, device, operands[0].shape(), shape, offsets, op.getStrides()))
          give(slice(operands[0], shape, offsets, op.getStrides()));
      })
      .Case([&](UpdateSliceOp op) {
        SmallVector<int64_t> offsets = indices(op.getOffsets());
        if (checkSlice(op, device, operands[0].shape(), operands[1].shape(), offsets, op.getStrides()))
          give(updateSlice(operands[0], operands[1], offsets, op.getStrides()));
      })
      .Case([&](GatherOp op) {
        int64_t dim = op.getDim();
        if (checkIndices(op, device, operands[1], op.getIsUnsigned(), dim, operands[0].dim(dim)))
          give(gather(operands[0], indicesAsI64(operands[1], op.getIsUnsigned()), dim));
      })
      .Case([&](ScatterOp op) {
        int64_t dim = op.getDim();
        if (checkIndices(op, device, operands[1], op.getIsUnsigned(), dim, operands[0].dim(dim)))
          give(scatter(operands[0], indicesAsI64(operands[1], op.getIsUnsigned()), operands[2], dim,
                       kindOf(op.getKind())));
      })

      // Sizes, and the doors between tensors and scf.
      .Case([&](SizeOp op) {
        if (std::optional<int64_t> size = evaluateSize(op.getSize(), op, device))
          give(NDArray::ofIndex(*size));
      })
      .Case([&](BindSizeOp op) {
        if (operands[0].integer() < 0)
          return fail(op, device, PMAP_FAIL_NEGATIVE_SIZE, operands[0].integer(), 0, 0, readableSize(op.getSymbol()));
        bindSymbol(op.getSymbol(), device, operands[0].integer());
        give(operands[0]);
      })
      .Case([&](ToIndexOp op) {
        give(NDArray::ofIndex(op.getIsUnsigned() ? int64_t(operands[0].unsignedInteger()) : operands[0].integer()));
      })
      .Case([&](FromIndexOp op) {
        Element element = elementOf(op.getType());
        int64_t index = operands[0].integer();
        if (isFloat(element))
          return give(NDArray::ofReal(element, element == Element::F32 ? float(index) : double(index)));
        if (!fits(index, op.getType(), op.getIsUnsigned()))
          return fail(op, device, PMAP_FAIL_NARROW, index, 0, 0, dtypeText(op.getType(), op.getIsUnsigned()));
        give(NDArray::ofInteger(element, index));
      })
      .Case([&](ToBoolOp op) { give(operands[0]); })
      .Case([&](AxisIndexOp op) { give(NDArray::ofInteger(Element::I32, mesh->position(device, op.getAxis()))); })
      .Case([&](AxisSizeOp op) { give(NDArray::ofIndex(mesh->axisSize(op.getAxis()))); })

      // What changes nothing here.
      .Case<WidenOp, StopGradientOp, OpaqueOp>([&](Operation *) { give(operands[0]); })

      .Case([&](AssertOp op) {
        if (!operands[0].integer())
          fail(op, device, PMAP_FAIL_ASSERT, 0, 0, 0, op.getMessage());
      })

      .Case([&](tensor::FromElementsOp op) {
        NDArray result(elementOf(op.getType()), shape);
        for (int64_t i = 0; i < result.count(); ++i)
          result.copyElement(i, operands[i], 0);
        give(result);
      })
      .Case([&](tensor::ExtractOp op) {
        NDArray scalar(operands[0].element(), {});
        scalar.copyElement(0, operands[0], offsetOf(indices(op.getIndices()), stridesOf(operands[0].shape())));
        give(scalar);
      })

      .Default([&](Operation *op) {
        if (op->getNumResults() == 1) {
          NDArray result(elementOf(op->getResult(0).getType()), shape);
          switch (evaluateElementwise(op, operands, result)) {
          case ElementwiseStatus::Done:
            return give(result);
          case ElementwiseStatus::DivisionByZero:
            return fail(op, device, PMAP_FAIL_DIVIDE_BY_ZERO);
          case ElementwiseStatus::Unknown:
            break;
          }
        }
        failWith(op, device, "", "the reference evaluator does not know '" + op->getName().getStringRef() + "'");
      });
}

} // namespace pmap::evaluate
