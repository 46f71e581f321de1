// The reference evaluator on modules written by hand, so that it stands without the front end. What whole programs give
// is the business of test/numeric.
#include "compiler/Evaluate/Evaluate.h"

#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "pmap/runtime.h"
#include "gtest/gtest.h"

using namespace pmap::evaluate;

namespace {

class EvaluateTest : public testing::Test {
protected:
  EvaluateTest() {
    mlir::DialectRegistry registry;
    pmap::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Runs the one function of a module.
  bool run(llvm::StringRef text, llvm::ArrayRef<NDArray> inputs, int64_t devices = 1) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    results.clear();
    failure = Failure();
    EvaluateOptions options;
    options.devices = devices;
    options.print = [&](llvm::StringRef format, llvm::ArrayRef<NDArray> values, llvm::ArrayRef<llvm::StringRef>,
                        int64_t device) {
      printed.push_back((llvm::Twine(device) + ": " + format + " " + llvm::Twine(values.size())).str());
    };
    auto entry = *module->getOps<mlir::func::FuncOp>().begin();
    return mlir::succeeded(evaluate(entry, inputs, options, results, failure));
  }

  static NDArray f32(llvm::ArrayRef<int64_t> shape, std::vector<float> values) {
    return NDArray::fromBytes(Element::F32, shape, values.data());
  }

  std::vector<double> reals(size_t result = 0) {
    std::vector<double> values;
    for (int64_t i = 0; i < results[result].count(); ++i)
      values.push_back(results[result].real(i));
    return values;
  }

  std::vector<int64_t> integers(size_t result = 0) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < results[result].count(); ++i)
      values.push_back(results[result].integer(i));
    return values;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<NDArray> results;
  Failure failure;
  std::vector<std::string> printed;
};

using Reals = std::vector<double>;
using Integers = std::vector<int64_t>;

TEST_F(EvaluateTest, HalfPrecisionRoundsOnce) {
  EXPECT_EQ(roundTo(Element::F16, 2049.0), 2048.0);
  EXPECT_EQ(roundTo(Element::F16, 65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(roundTo(Element::BF16, 1.00390625), 1.0);
  // Through f32 this would round twice and end one step higher.
  EXPECT_EQ(roundTo(Element::BF16, 1.00390625 + 0x1p-40), 1.0078125);
}

TEST_F(EvaluateTest, IntegersWrap) {
  NDArray array(Element::I8, {2});
  array.setInteger(0, 200);
  array.setInteger(1, -129);
  EXPECT_EQ(array.integer(0), -56);
  EXPECT_EQ(array.unsignedInteger(0), 200u);
  EXPECT_EQ(array.integer(1), 127);
}

TEST_F(EvaluateTest, CopiesOnWrite) {
  NDArray a = f32({2}, {1, 2}), b = a;
  b.setReal(0, 5);
  EXPECT_EQ(a.real(0), 1);
  EXPECT_EQ(b.real(0), 5);
}

TEST_F(EvaluateTest, ReduceAndBroadcast) {
  ASSERT_TRUE(run(R"(func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %s = pmap.reduce sum %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
    %b = pmap.broadcast %s dims [0] : tensor<2xf32> -> tensor<2x3xf32>
    %r = arith.subf %x, %b : tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  })",
                  {f32({2, 3}, {1, 2, 3, 4, 5, 6})}));
  EXPECT_EQ(reals(), (Reals{-5, -4, -3, -11, -10, -9}));
}

TEST_F(EvaluateTest, SizesComeFromSymbols) {
  ASSERT_TRUE(run(R"(func.func @main(%n: index, %x: tensor<?xf32, #pmap.layout<["n"], []>>) -> index
      attributes {pmap.sizes = ["n"]} {
    %y = pmap.concat %x, %x dim 0 : (tensor<?xf32, #pmap.layout<["n"], []>>, tensor<?xf32, #pmap.layout<["n"], []>>)
      -> tensor<?xf32, #pmap.layout<["2*n"], []>>
    %i = pmap.size "2*n+1"
    return %i : index
  })",
                  {NDArray::ofIndex(3), f32({3}, {1, 2, 3})}));
  EXPECT_EQ(integers(), Integers{7});
}

TEST_F(EvaluateTest, AnIndexOutOfRangeFails) {
  llvm::StringRef text = R"(func.func @main(%i: index, %x: tensor<3xf32>) -> tensor<f32> {
    %n = pmap.size "3"
    %j = pmap.checked_index %i < %n dim 0
    %r = pmap.extract %x[%j] : tensor<3xf32> -> tensor<f32>
    return %r : tensor<f32>
  })";
  ASSERT_TRUE(run(text, {NDArray::ofIndex(2), f32({3}, {1, 2, 3})}));
  EXPECT_EQ(reals(), Reals{3});
  ASSERT_FALSE(run(text, {NDArray::ofIndex(3), f32({3}, {1, 2, 3})}));
  EXPECT_EQ(codeOf(failure), "E1101");
  EXPECT_EQ(messageOf(failure), "index 3 is out of range for dimension 0 of size 3");
  EXPECT_EQ(failure.line, 3);
}

constexpr const char *psumText = R"(
  !whole = tensor<?xf32, #pmap.layout<["n"], []>>
  !split = !pmap.dist<!whole, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [-1]>>
  !block = tensor<?xf32, #pmap.layout<["n.1"], ["a"]>>
  func.func @main(%n: index, %x: !whole) -> (!whole, tensor<f32>) attributes {pmap.sizes = ["n"]} {
    %d = pmap.move %x : !whole to !split
    %r:2 = pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"n.1", ["a"], ragged, "argument 'x', dimension 0">]
        (%d) : (!split) -> (!split, !pmap.dist<tensor<f32>, #pmap.spec<[]>, #pmap.mesh<["a"], [-1]>>) {
    ^bb0(%m: index, %b: !block):
      %s = pmap.reduce sum %b dims [0] : !block -> tensor<f32, #pmap.layout<[], ["a"]>>
      %t = pmap.all_reduce sum (%s) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
      %w = pmap.widen %t : tensor<f32> to tensor<f32, #pmap.layout<[], ["a"]>>
      %v = pmap.broadcast %w dims [] : tensor<f32, #pmap.layout<[], ["a"]>> -> !block
      %y = arith.divf %b, %v : !block
      pmap.yield %y, %t : !block, tensor<f32>
    }
    %g = pmap.move %r#0 : !split to !whole
    %u = pmap.move %r#1 : !pmap.dist<tensor<f32>, #pmap.spec<[]>, #pmap.mesh<["a"], [-1]>> to tensor<f32>
    return %g, %u : !whole, tensor<f32>
  })";

TEST_F(EvaluateTest, MapsAndCollectives) {
  for (int64_t devices : {1, 2, 3, 4, 8}) {
    ASSERT_TRUE(run(psumText, {NDArray::ofIndex(5), f32({5}, {1, 2, 3, 4, 6})}, devices)) << messageOf(failure);
    EXPECT_EQ(reals(0), (Reals{0.0625, 0.125, 0.1875, 0.25, 0.375}));
    EXPECT_EQ(reals(1), Reals{16});
  }
}

TEST_F(EvaluateTest, TheLowestFailingDeviceIsReported) {
  llvm::StringRef text = R"(
  func.func @main() {
    pmap.map #pmap.mesh<["a"], [-1]> sizes () [] () : () -> () {
      %i = pmap.axis_index "a" : tensor<i32, #pmap.layout<[], ["a"]>>
      %j = pmap.to_index %i : tensor<i32, #pmap.layout<[], ["a"]>>
      %n = pmap.size "1"
      %k = pmap.checked_index %j < %n dim 0
      %f = arith.sitofp %i : tensor<i32, #pmap.layout<[], ["a"]>> to tensor<f32, #pmap.layout<[], ["a"]>>
      %t = pmap.all_reduce sum (%f) over ["a"] : (tensor<f32, #pmap.layout<[], ["a"]>>) -> tensor<f32>
      pmap.yield
    }
    return
  })";
  EXPECT_TRUE(run(text, {}, 1));
  ASSERT_FALSE(run(text, {}, 4));
  EXPECT_EQ(messageOf(failure), "index 1 is out of range for dimension 0 of size 1");
}

TEST_F(EvaluateTest, DevicesLeaveALoopOneByOne) {
  ASSERT_TRUE(run(R"(
  !varying = tensor<i32, #pmap.layout<[], ["a"]>>
  func.func @main() -> tensor<i32> {
    %r = pmap.map #pmap.mesh<["a"], [4]> sizes () [] () : ()
        -> !pmap.dist<tensor<i32>, #pmap.spec<[]>, #pmap.mesh<["a"], [4]>> {
      %rank = pmap.axis_index "a" : !varying
      %trips = pmap.to_index %rank : !varying
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant dense<0> : tensor<i32>
      %start = pmap.widen %zero : tensor<i32> to !varying
      %sum = scf.for %i = %c0 to %trips step %c1 iter_args(%s = %start) -> !varying {
        %next = arith.addi %s, %rank : !varying
        scf.yield %next : !varying
      }
      %t = pmap.all_reduce sum (%sum) over ["a"] : (!varying) -> tensor<i32>
      pmap.yield %t : tensor<i32>
    }
    %g = pmap.move %r : !pmap.dist<tensor<i32>, #pmap.spec<[]>, #pmap.mesh<["a"], [4]>> to tensor<i32>
    return %g : tensor<i32>
  })",
                  {}, 4))
      << messageOf(failure);
  EXPECT_EQ(integers(), Integers{0 + 1 + 4 + 9});
}

TEST_F(EvaluateTest, ASizeThatDoesNotDivideFailsBeforeAnythingRuns) {
  llvm::StringRef text = R"(
  func.func @main(%n: index) attributes {pmap.sizes = ["n"]} {
    pmap.map #pmap.mesh<["a"], [-1]> sizes (%n) [#pmap.size_arg<"n.1", ["a"], "argument 'x', dimension 0">] () : () -> () {
    ^bb0(%m: index):
      pmap.print "here" () []
      pmap.yield
    }
    return
  })";
  ASSERT_FALSE(run(text, {NDArray::ofIndex(10)}, 4));
  EXPECT_EQ(codeOf(failure), "E1120");
  EXPECT_EQ(messageOf(failure), "argument 'x', dimension 0: size 10 does not divide by the 4 devices of axis \"a\"");
  EXPECT_TRUE(printed.empty());
  ASSERT_TRUE(run(text, {NDArray::ofIndex(10)}, 2));
  EXPECT_EQ(printed, (std::vector<std::string>{"0: here 0", "1: here 0"}));
}

} // namespace
