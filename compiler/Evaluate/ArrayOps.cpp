#include "compiler/Evaluate/ArrayOps.h"

#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using llvm::ArrayRef;
using llvm::SmallVector;

namespace pmap::evaluate {
namespace {

using Shape = SmallVector<int64_t, 4>;

/// One running reduction. Floating elements are kept in long double, integers in 64 bits whose low bits count.
class Accumulator {
public:
  Accumulator(Element element, ReduceKind kind) : element(element), kind(kind) {
    switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Or:
    case ReduceKind::MaxUnsigned:
      break;
    case ReduceKind::Prod:
      number = 1;
      bits = 1;
      break;
    case ReduceKind::Max:
      number = -std::numeric_limits<long double>::infinity();
      bits = lowestInteger();
      break;
    case ReduceKind::Min:
      number = std::numeric_limits<long double>::infinity();
      bits = ~lowestInteger();
      break;
    case ReduceKind::And:
    case ReduceKind::MinUnsigned:
      bits = ~int64_t(0);
      break;
    }
  }

  void add(const NDArray &x, int64_t i) {
    if (isFloat(element))
      addReal(x.real(i));
    else
      addInteger(x.integer(i), x.unsignedInteger(i));
  }

  void store(NDArray &result, int64_t i) const {
    if (isFloat(element))
      result.setReal(i, static_cast<double>(number));
    else
      result.setInteger(i, bits);
  }

private:
  int64_t lowestInteger() const {
    if (element == Element::Bool)
      return 0;
    return std::numeric_limits<int64_t>::min() >> (64 - 8 * byteWidth(element));
  }

  void addReal(long double value) {
    switch (kind) {
    case ReduceKind::Sum:
      number += value;
      return;
    case ReduceKind::Prod:
      number *= value;
      return;
    case ReduceKind::Max:
      number = std::isnan(number) || number >= value ? number : value;
      return;
    case ReduceKind::Min:
      number = std::isnan(number) || number <= value ? number : value;
      return;
    default:
      llvm_unreachable("a bitwise or unsigned reduction of floating elements");
    }
  }

  void addInteger(int64_t value, uint64_t unsignedValue) {
    switch (kind) {
    case ReduceKind::Sum:
      bits = int64_t(uint64_t(bits) + unsignedValue);
      return;
    case ReduceKind::Prod:
      bits = int64_t(uint64_t(bits) * unsignedValue);
      return;
    case ReduceKind::Max:
      bits = std::max(bits, value);
      return;
    case ReduceKind::Min:
      bits = std::min(bits, value);
      return;
    case ReduceKind::MaxUnsigned:
      bits = int64_t(std::max(uint64_t(bits), unsignedValue));
      return;
    case ReduceKind::MinUnsigned:
      bits = int64_t(std::min(uint64_t(bits), unsignedValue));
      return;
    case ReduceKind::And:
      bits &= value;
      return;
    case ReduceKind::Or:
      bits |= value;
      return;
    }
  }

  Element element;
  ReduceKind kind;
  long double number = 0;
  int64_t bits = 0;
};

bool contains(Dims dims, int64_t d) { return llvm::is_contained(dims, d); }

/// The extents of `x` without `dims`.
Shape without(Dims shape, Dims dims) {
  Shape rest;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (!contains(dims, d))
      rest.push_back(shape[d]);
  return rest;
}

/// A line along `dim`: the offset of its first element for each position of the other dimensions.
template <typename Visit> void forEachLine(Dims shape, int64_t dim, Visit visit) {
  Shape others(shape.begin(), shape.end());
  others[dim] = 1;
  Shape strides = stridesOf(shape);
  forEachPosition(others, [&](Dims position, int64_t) { visit(offsetOf(position, strides), strides[dim]); });
}

} // namespace

NDArray broadcast(const NDArray &x, Dims shape, Dims dims) {
  NDArray result(x.element(), shape);
  Shape strides = stridesOf(x.shape());
  forEachPosition(shape, [&](Dims position, int64_t flat) {
    int64_t from = 0;
    for (int64_t k = 0; k < x.rank(); ++k)
      if (x.dim(k) != 1)
        from += position[dims[k]] * strides[k];
    result.copyElement(flat, x, from);
  });
  return result;
}

NDArray reduce(const NDArray &x, ReduceKind kind, Dims dims) {
  Shape kept = without(x.shape(), dims);
  NDArray result(x.element(), kept);
  std::vector<Accumulator> accumulators(result.count(), Accumulator(x.element(), kind));
  Shape strides = stridesOf(kept);
  forEachPosition(x.shape(), [&](Dims position, int64_t flat) {
    int64_t to = 0;
    for (int64_t d = 0, k = 0; d < x.rank(); ++d)
      if (!contains(dims, d))
        to += position[d] * strides[k++];
    accumulators[to].add(x, flat);
  });
  for (int64_t i = 0; i < result.count(); ++i)
    accumulators[i].store(result, i);
  return result;
}

NDArray argReduce(const NDArray &x, ReduceKind kind, int64_t dim) {
  Shape kept = without(x.shape(), {dim});
  NDArray result(Element::I32, kept);
  auto better = [&](int64_t candidate, int64_t best) {
    if (isFloat(x.element())) {
      double a = x.real(candidate), b = x.real(best);
      if (std::isnan(b))
        return false;
      return std::isnan(a) || (kind == ReduceKind::Max ? a > b : a < b);
    }
    switch (kind) {
    case ReduceKind::Max:
      return x.integer(candidate) > x.integer(best);
    case ReduceKind::Min:
      return x.integer(candidate) < x.integer(best);
    case ReduceKind::MaxUnsigned:
      return x.unsignedInteger(candidate) > x.unsignedInteger(best);
    default:
      return x.unsignedInteger(candidate) < x.unsignedInteger(best);
    }
  };
  int64_t line = 0;
  forEachLine(x.shape(), dim, [&](int64_t start, int64_t stride) {
    int64_t best = 0;
    for (int64_t i = 1; i < x.dim(dim); ++i)
      if (better(start + i * stride, start + best * stride))
        best = i;
    result.setInteger(line++, best);
  });
  return result;
}

NDArray scan(const NDArray &x, ReduceKind kind, int64_t dim) {
  NDArray result(x.element(), x.shape());
  if (x.count() == 0)
    return result;
  forEachLine(x.shape(), dim, [&](int64_t start, int64_t stride) {
    Accumulator running(x.element(), kind);
    for (int64_t i = 0; i < x.dim(dim); ++i) {
      running.add(x, start + i * stride);
      running.store(result, start + i * stride);
    }
  });
  return result;
}

NDArray dot(const NDArray &a, const NDArray &b, Dims aBatch, Dims bBatch, Dims aContract, Dims bContract) {
  // The free dimensions, in order, and all extents of the result.
  SmallVector<int64_t> aFree, bFree, shape, summed;
  for (int64_t d : aBatch)
    shape.push_back(a.dim(d));
  for (int64_t d = 0; d < a.rank(); ++d)
    if (!contains(aBatch, d) && !contains(aContract, d)) {
      aFree.push_back(d);
      shape.push_back(a.dim(d));
    }
  for (int64_t d = 0; d < b.rank(); ++d)
    if (!contains(bBatch, d) && !contains(bContract, d)) {
      bFree.push_back(d);
      shape.push_back(b.dim(d));
    }
  for (int64_t d : aContract)
    summed.push_back(a.dim(d));

  NDArray result(a.element(), shape);
  Shape aStrides = stridesOf(a.shape()), bStrides = stridesOf(b.shape());
  forEachPosition(shape, [&](Dims position, int64_t flat) {
    int64_t aStart = 0, bStart = 0, k = 0;
    for (size_t i = 0; i < aBatch.size(); ++i, ++k) {
      aStart += position[k] * aStrides[aBatch[i]];
      bStart += position[k] * bStrides[bBatch[i]];
    }
    for (int64_t d : aFree)
      aStart += position[k++] * aStrides[d];
    for (int64_t d : bFree)
      bStart += position[k++] * bStrides[d];

    long double total = 0;
    uint64_t integerTotal = 0;
    forEachPosition(summed, [&](Dims along, int64_t) {
      int64_t aAt = aStart, bAt = bStart;
      for (size_t i = 0; i < summed.size(); ++i) {
        aAt += along[i] * aStrides[aContract[i]];
        bAt += along[i] * bStrides[bContract[i]];
      }
      if (isFloat(a.element()))
        total += static_cast<long double>(a.real(aAt)) * b.real(bAt);
      else
        integerTotal += a.unsignedInteger(aAt) * b.unsignedInteger(bAt);
    });
    if (isFloat(a.element()))
      result.setReal(flat, static_cast<double>(total));
    else
      result.setInteger(flat, static_cast<int64_t>(integerTotal));
  });
  return result;
}

NDArray transpose(const NDArray &x, Dims perm) {
  SmallVector<int64_t> shape;
  for (int64_t d : perm)
    shape.push_back(x.dim(d));
  NDArray result(x.element(), shape);
  Shape strides = stridesOf(x.shape());
  forEachPosition(shape, [&](Dims position, int64_t flat) {
    int64_t from = 0;
    for (size_t k = 0; k < perm.size(); ++k)
      from += position[k] * strides[perm[k]];
    result.copyElement(flat, x, from);
  });
  return result;
}

NDArray concat(ArrayRef<NDArray> parts, int64_t dim) {
  Shape shape(parts[0].shape());
  shape[dim] = 0;
  for (const NDArray &part : parts)
    shape[dim] += part.dim(dim);
  NDArray result(parts[0].element(), shape);
  Shape strides = stridesOf(shape);
  int64_t start = 0;
  for (const NDArray &part : parts) {
    forEachPosition(part.shape(), [&](Dims position, int64_t flat) {
      result.copyElement(offsetOf(position, strides) + start * strides[dim], part, flat);
    });
    start += part.dim(dim);
  }
  return result;
}

NDArray reverse(const NDArray &x, Dims dims) {
  NDArray result(x.element(), x.shape());
  Shape strides = stridesOf(x.shape());
  forEachPosition(x.shape(), [&](Dims position, int64_t flat) {
    int64_t from = 0;
    for (int64_t d = 0; d < x.rank(); ++d)
      from += (contains(dims, d) ? x.dim(d) - 1 - position[d] : position[d]) * strides[d];
    result.copyElement(flat, x, from);
  });
  return result;
}

NDArray rotate(const NDArray &x, int64_t offset, int64_t dim) {
  NDArray result(x.element(), x.shape());
  Shape strides = stridesOf(x.shape());
  forEachPosition(x.shape(), [&](Dims position, int64_t flat) {
    int64_t size = x.dim(dim), place = (position[dim] + offset % size + size) % size;
    result.copyElement(flat, x, flat + (place - position[dim]) * strides[dim]);
  });
  return result;
}

NDArray iota(Element element, Dims shape, int64_t dim) {
  NDArray result(element, shape);
  forEachPosition(shape, [&](Dims position, int64_t flat) {
    if (isFloat(element))
      result.setReal(flat, static_cast<double>(position[dim]));
    else
      result.setInteger(flat, position[dim]);
  });
  return result;
}

NDArray pad(const NDArray &x, const NDArray &fill, Dims low, Dims high) {
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < x.rank(); ++d)
    shape.push_back(low[d] + x.dim(d) + high[d]);
  NDArray result(x.element(), shape);
  for (int64_t i = 0; i < result.count(); ++i)
    result.copyElement(i, fill, 0);
  SmallVector<int64_t> ones(x.rank(), 1);
  return updateSlice(result, x, low, ones);
}

NDArray slice(const NDArray &x, Dims shape, Dims offsets, Dims strides) {
  NDArray result(x.element(), shape);
  Shape steps = stridesOf(x.shape());
  forEachPosition(shape, [&](Dims position, int64_t flat) {
    int64_t from = 0;
    for (int64_t d = 0; d < x.rank(); ++d)
      from += (offsets[d] + position[d] * strides[d]) * steps[d];
    result.copyElement(flat, x, from);
  });
  return result;
}

NDArray updateSlice(const NDArray &x, const NDArray &update, Dims offsets, Dims strides) {
  NDArray result = x;
  Shape steps = stridesOf(x.shape());
  forEachPosition(update.shape(), [&](Dims position, int64_t flat) {
    int64_t to = 0;
    for (int64_t d = 0; d < x.rank(); ++d)
      to += (offsets[d] + position[d] * strides[d]) * steps[d];
    result.copyElement(to, update, flat);
  });
  return result;
}

/// For each position of gather's result shape: the element of `x` it names.
template <typename Visit>
static void forEachGathered(const NDArray &x, const NDArray &indices, int64_t dim, Visit visit) {
  SmallVector<int64_t> shape(x.shape().take_front(dim));
  shape.append(indices.shape().begin(), indices.shape().end());
  shape.append(x.shape().begin() + dim + 1, x.shape().end());
  Shape strides = stridesOf(x.shape()), indexStrides = stridesOf(indices.shape());
  int64_t width = indices.rank();
  forEachPosition(shape, [&](Dims position, int64_t flat) {
    int64_t at = offsetOf(position.take_front(dim), Dims(strides).take_front(dim));
    at += indices.integer(offsetOf(position.slice(dim, width), indexStrides)) * strides[dim];
    at += offsetOf(position.drop_front(dim + width), Dims(strides).drop_front(dim + 1));
    visit(flat, at);
  });
}

NDArray gather(const NDArray &x, const NDArray &indices, int64_t dim) {
  SmallVector<int64_t> shape(x.shape().take_front(dim));
  shape.append(indices.shape().begin(), indices.shape().end());
  shape.append(x.shape().begin() + dim + 1, x.shape().end());
  NDArray result(x.element(), shape);
  forEachGathered(x, indices, dim, [&](int64_t flat, int64_t at) { result.copyElement(flat, x, at); });
  return result;
}

NDArray scatter(const NDArray &x, const NDArray &indices, const NDArray &updates, int64_t dim, ReduceKind kind) {
  std::vector<Accumulator> accumulators(x.count(), Accumulator(x.element(), kind));
  for (int64_t i = 0; i < x.count(); ++i)
    accumulators[i].add(x, i);
  forEachGathered(x, indices, dim, [&](int64_t flat, int64_t at) { accumulators[at].add(updates, flat); });
  NDArray result(x.element(), x.shape());
  for (int64_t i = 0; i < x.count(); ++i)
    accumulators[i].store(result, i);
  return result;
}

NDArray argsort(const NDArray &x, int64_t dim, bool descending, bool isUnsigned) {
  NDArray result(Element::I32, x.shape());
  if (x.count() == 0)
    return result;
  auto before = [&](int64_t i, int64_t j) {
    if (isFloat(x.element())) {
      double a = x.real(i), b = x.real(j);
      if (std::isnan(a) || std::isnan(b))
        return !std::isnan(a) && std::isnan(b);
      return descending ? a > b : a < b;
    }
    if (isUnsigned)
      return descending ? x.unsignedInteger(i) > x.unsignedInteger(j) : x.unsignedInteger(i) < x.unsignedInteger(j);
    return descending ? x.integer(i) > x.integer(j) : x.integer(i) < x.integer(j);
  };
  forEachLine(x.shape(), dim, [&](int64_t start, int64_t stride) {
    std::vector<int64_t> order(x.dim(dim));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      int64_t a = start + i * stride, b = start + j * stride;
      return before(a, b) || (!before(b, a) && i < j);
    });
    for (int64_t i = 0; i < x.dim(dim); ++i)
      result.setInteger(start + i * stride, order[i]);
  });
  return result;
}

NDArray takeAlong(const NDArray &x, const NDArray &order, int64_t dim) {
  NDArray result(x.element(), x.shape());
  if (x.count() == 0)
    return result;
  forEachLine(x.shape(), dim, [&](int64_t start, int64_t stride) {
    for (int64_t i = 0; i < x.dim(dim); ++i)
      result.copyElement(start + i * stride, x, start + order.integer(start + i * stride) * stride);
  });
  return result;
}

NDArray combine(const NDArray &a, const NDArray &b, ReduceKind kind) {
  NDArray result(a.element(), a.shape());
  for (int64_t i = 0; i < a.count(); ++i) {
    // Sums and products in double are the operation itself for f64; from long double they would round twice.
    if (isFloat(a.element()) && (kind == ReduceKind::Sum || kind == ReduceKind::Prod)) {
      double x = a.real(i), y = b.real(i);
      result.setReal(i, kind == ReduceKind::Sum ? x + y : x * y);
      continue;
    }
    Accumulator pair(a.element(), kind);
    pair.add(a, i);
    pair.add(b, i);
    pair.store(result, i);
  }
  return result;
}

} // namespace pmap::evaluate
