#include "compiler/Dialect/Transforms/MostTrips.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

void LinearIndex::add(const LinearIndex &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [value, coefficient] : other.terms) {
    auto known = llvm::find_if(terms, [&](auto &term) { return term.first == value; });
    if (known == terms.end())
      terms.push_back({value, factor * coefficient});
    else if ((known->second += factor * coefficient) == 0)
      terms.erase(known);
  }
}

LinearIndex LinearIndex::of(Value value) {
  LinearIndex sum;
  APInt constant;
  Operation *op = value.getDefiningOp();
  if (matchPattern(value, m_ConstantInt(&constant))) {
    sum.constant = constant.getSExtValue();
  } else if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    sum = of(op->getOperand(0));
    sum.add(of(op->getOperand(1)), isa<arith::AddIOp>(op) ? 1 : -1);
  } else if (isa_and_nonnull<arith::MulIOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant))) {
    if (!constant.isZero())
      sum.add(of(op->getOperand(0)), constant.getSExtValue());
  } else {
    sum.terms.push_back({value, 1});
  }
  return sum;
}

Value LinearIndex::emit(OpBuilder &builder, Location loc) const {
  Value sum;
  for (auto [value, coefficient] : terms) {
    Value term = value;
    if (coefficient != 1)
      term = arith::MulIOp::create(builder, loc, value, arith::ConstantIndexOp::create(builder, loc, coefficient));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, term).getResult() : term;
  }
  if (sum && !constant)
    return sum;
  Value number = arith::ConstantIndexOp::create(builder, loc, constant);
  return sum ? arith::AddIOp::create(builder, loc, sum, number).getResult() : number;
}

MostTrips pmap::mostTrips(scf::ForOp loop) {
  MostTrips most{LinearIndex::of(loop.getUpperBound()), loop};
  most.trips.add(LinearIndex::of(loop.getLowerBound()), -1);
  if (!matchPattern(loop.getStep(), m_One()))
    return most;
  while (isa<scf::ForOp, scf::IfOp>(most.place->getParentOp())) {
    Operation *outer = most.place->getParentOp();
    LinearIndex trips = most.trips;
    if (auto around = dyn_cast<scf::ForOp>(outer)) {
      APInt step;
      auto index = llvm::find_if(trips.terms, [&](auto &term) { return term.first == around.getInductionVar(); });
      if (index != trips.terms.end()) {
        if (!matchPattern(around.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
          break;
        int64_t coefficient = index->second;
        trips.terms.erase(index);
        trips.add(LinearIndex::of(coefficient > 0 ? around.getUpperBound() : around.getLowerBound()), coefficient);
        if (coefficient > 0)
          trips.constant -= coefficient;
      }
    }
    bool isKnown = llvm::none_of(
        trips.terms, [&](auto &term) { return outer->isAncestor(term.first.getParentRegion()->getParentOp()); });
    if (!isKnown)
      break;
    most = {trips, outer};
  }
  return most;
}
