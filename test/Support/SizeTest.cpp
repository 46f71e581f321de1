// Sizes: normal forms, quotients, calls, evaluation and proofs.

#include "compiler/Support/Size.h"
#include <gtest/gtest.h>
#include <random>

using namespace pmap;

namespace {

Size size(const char *text) {
  auto parsed = Size::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Size());
}

#define EXPECT_SAME(a, b) EXPECT_EQ(size(a).str(), size(b).str())
#define EXPECT_DIFFERENT(a, b) EXPECT_NE(size(a).str(), size(b).str())

TEST(Size, SumsCommute) {
  EXPECT_SAME("n+1", "1+n");
  EXPECT_SAME("2*(n-1)+2", "2*n");
  EXPECT_SAME("(i*b+b)-(i*b)", "b");
  EXPECT_SAME("(n+m)*(n-m)", "n*n-m*m");
  EXPECT_SAME("n-n", "0");
  EXPECT_DIFFERENT("n", "m");
  EXPECT_EQ(size("1 + 2*d").str(), "2*d+1");
  EXPECT_EQ(size("0-n").str(), "-n");
}

TEST(Size, QuotientsCancel) {
  EXPECT_SAME("n*@data/@data", "n");
  EXPECT_SAME("2*(n/2)", "n");
  EXPECT_SAME("n/2+n/2", "n");
  EXPECT_SAME("(n/@a)*@a", "n");
  EXPECT_SAME("(4*n+2)/2", "2*n+1");
  EXPECT_SAME("n*(d+1)/(d+1)", "n");
  EXPECT_SAME("(n/(d+1))*(d+1)", "n");
  EXPECT_SAME("(d+1+n)/(d+1)", "1+n/(d+1)");
  EXPECT_SAME("(n*n-m*m)/(n-m)", "n+m");
  EXPECT_EQ(size("n/2").str(), "(n)/(2)");
  EXPECT_EQ(size("n/2+1").str(), "(n+2)/(2)");
}

TEST(Size, TextRoundTrips) {
  for (const char *text : {"0", "7", "n", "n.1", "@data", "2*d+1", "(n)/(2)", "(n)/(@data)", "floordiv(n,2)",
                           "min(m,n)", "n*n-3*n*d+2", "(n)/(d+1)", "mod(n+1,4)", "größe+1", "(n)/(2*d)/(k+1)"})
    EXPECT_EQ(size(text).str(), size(size(text).str().c_str()).str());
  EXPECT_FALSE(Size::parse("n+"));
  EXPECT_FALSE(Size::parse("(n"));
  EXPECT_FALSE(Size::parse("foo(n,2)"));
  EXPECT_FALSE(Size::parse(""));
}

TEST(Size, ShownAsPeopleWrite) {
  EXPECT_EQ(size("n/@data").shown(), "n/data");
  EXPECT_EQ(size("4/@a").shown(), "4/a");
  EXPECT_EQ(size("@data*n").shown(), "@data*n");
  EXPECT_EQ(size("n/2+1").shown(), "n/2+1");
  EXPECT_EQ(size("n/(2*@a*@b)").shown(), "n/(2*a*b)");
  EXPECT_EQ(size("n/(d+1)+m").shown(), "n/(d+1)+m");
  EXPECT_EQ(size("floordiv(n+1,2)").shown(), "(n+1)//2");
  EXPECT_EQ(size("n-2*floordiv(n,2)").shown(), "n-2*(n//2)");
  EXPECT_EQ(size("mod(2*n,m)").shown(), "(2*n)%m");
  EXPECT_EQ(size("min(k,n)+1").shown(), "min(k, n)+1");
  EXPECT_EQ(size("0-n").shown(), "-n");
  EXPECT_EQ(size("0").shown(), "0");
}

TEST(Size, FloorsLieBetweenFractions) {
  EXPECT_TRUE(size("n-floordiv(n+1,2)").provablyNonNegative());
  EXPECT_TRUE(size("floordiv(3*n,4)-floordiv(n,4)").provablyNonNegative());
  EXPECT_TRUE(size("floordiv(n+1,2)-floordiv(n,2)").provablyNonNegative());
  EXPECT_TRUE(size("n-floordiv(n,2)").provablyNonNegative());
  EXPECT_TRUE(size("n+1-floordiv(n,2)-floordiv(n+1,2)").provablyNonNegative());
  EXPECT_FALSE(size("floordiv(n,2)-1").provablyNonNegative());
  EXPECT_FALSE(size("n-floordiv(n+2,2)").provablyNonNegative());
  EXPECT_FALSE(size("floordiv(n,2)-floordiv(n+1,2)").provablyNonNegative());
  // What is shown holds for small sizes.
  for (const char *text : {"n-floordiv(n+k,2)", "floordiv(3*n,4)-floordiv(k,4)", "2*floordiv(n,2)-k",
                           "floordiv(n+2,3)-floordiv(n,3)-1", "floordiv(5*n+k,4)-n"}) {
    if (!size(text).provablyNonNegative())
      continue;
    for (int64_t n = 0; n < 12; ++n)
      for (int64_t k = 0; k < 12; ++k)
        EXPECT_GE(size(text).evaluate([&](llvm::StringRef s) { return s == "n" ? n : k; }).value_or(-1), 0) << text;
  }
}

TEST(Size, CallsSimplify) {
  EXPECT_SAME("floordiv(4*n+9,4)", "n+2+floordiv(1,4)");
  EXPECT_SAME("floordiv(4*n+m,4)", "n+floordiv(m,4)");
  EXPECT_SAME("mod(4*n+m+5,4)", "mod(m+1,4)");
  EXPECT_SAME("floordiv(0-7,2)", "0-4");
  EXPECT_SAME("mod(0-7,2)", "1");
  EXPECT_SAME("floordiv(n*d,d)", "n");
  // The blocks of a ragged split make up the whole.
  EXPECT_SAME("floordiv(n+2,3)+floordiv(n+1,3)+floordiv(n,3)", "n");
  EXPECT_SAME("2*floordiv(d*n+4,2)+2*floordiv(d*n+5,2)+k", "2*d*n+k+8");
  EXPECT_SAME("mod(n*d,d)", "0");
  EXPECT_SAME("min(n,n+1)", "n");
  EXPECT_SAME("max(n,n+1)", "n+1");
  EXPECT_SAME("min(n,m)", "min(m,n)");
}

TEST(Size, Evaluates) {
  auto value = [](llvm::StringRef name) -> std::optional<int64_t> {
    if (name == "n")
      return 10;
    if (name == "@a")
      return 4;
    if (name == "big")
      return INT64_MAX;
    return std::nullopt;
  };
  SizeStatus status;
  EXPECT_EQ(size("2*n+1").evaluate(value), 21);
  EXPECT_EQ(size("n/2").evaluate(value), 5);
  EXPECT_EQ(size("floordiv(n,@a)+mod(n,@a)").evaluate(value), 4);
  EXPECT_EQ(size("n/@a").evaluate(value, &status), std::nullopt);
  EXPECT_EQ(status, SizeStatus::NotExact);
  EXPECT_EQ(size("big*n").evaluate(value, &status), std::nullopt);
  EXPECT_EQ(status, SizeStatus::Overflow);
  EXPECT_EQ(size("big*n-big*n+n").evaluate(value), 10);
  EXPECT_EQ(size("m").evaluate(value, &status), std::nullopt);
  EXPECT_EQ(status, SizeStatus::Unbound);
  EXPECT_EQ(size("n/(n-10+0*n)").evaluate(value, &status), std::nullopt);
  EXPECT_EQ(status, SizeStatus::DivideByZero);
}

TEST(Size, CoefficientsThatOverflowEqualNothing) {
  Size large = Size(INT64_MAX) * Size::symbol("n");
  Size larger = large * Size(2);
  EXPECT_TRUE(larger.overflowed());
  EXPECT_FALSE(larger == larger);
}

TEST(Size, Proves) {
  EXPECT_TRUE(size("n").provablyNonNegative());
  EXPECT_FALSE(size("n-1").provablyNonNegative());
  EXPECT_TRUE(size("@a-1").provablyNonNegative());
  EXPECT_TRUE(size("n*@a-n").provablyNonNegative());
  EXPECT_TRUE(size("n-min(n,m)").provablyNonNegative());
  EXPECT_TRUE(size("max(n,m)-m").provablyNonNegative());
  EXPECT_TRUE(size("3-mod(n,4)").provablyNonNegative());
  EXPECT_TRUE(size("n-floordiv(n,2)").provablyNonNegative());
  EXPECT_TRUE(size("n+1").provablyPositive());
  EXPECT_TRUE(size("n+1").provablyDiffers(size("n")));
  EXPECT_FALSE(size("n").provablyDiffers(size("m")));
}

TEST(Size, SubstitutesAndSplits) {
  EXPECT_EQ(size("2*m+1").substitute("m", size("n/@a")).str(), size("2*n/@a+1").str());
  EXPECT_EQ((size("2*m").substitute("m", size("n/@a")) * Size::axis("a")).str(), "2*n");
  auto linear = size("2*d*m+k").linearIn("m");
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->first.str(), "2*d");
  EXPECT_EQ(linear->second.str(), "k");
  EXPECT_FALSE(size("m*m").linearIn("m"));
  EXPECT_EQ(size("floordiv(n,2)").substitute("n", Size(7)).str(), "3");
}

// Random expressions: the value of the normal form is the value of the expression, and text round-trips.
TEST(Size, RandomExpressionsKeepTheirValue) {
  std::mt19937 random(7);
  const char *names[] = {"a", "b", "c", "@d"};
  int64_t values[] = {3, 5, 7, 4};
  auto value = [&](llvm::StringRef name) -> std::optional<int64_t> {
    for (int i = 0; i < 4; ++i)
      if (name == names[i])
        return values[i];
    return std::nullopt;
  };
  for (int trial = 0; trial < 500; ++trial) {
    Size expression = Size::symbol("a");
    int64_t expected = 3;
    for (int step = 0; step < 5; ++step) {
      int pick = random() % 5;
      Size operand = pick < 4 ? Size::symbol(names[pick]) : Size(int64_t(random() % 9));
      int64_t number = pick < 4 ? values[pick] : *operand.constant();
      switch (random() % 7) {
      case 0:
        expression = expression + operand, expected += number;
        break;
      case 1:
        expression = expression - operand, expected -= number;
        break;
      case 2:
        expression = expression * operand, expected *= number;
        break;
      case 3:
        expression = Size::min(expression, operand), expected = std::min(expected, number);
        break;
      case 4:
        expression = Size::max(expression, operand), expected = std::max(expected, number);
        break;
      case 5: {
        if (number == 0)
          break;
        int64_t rest = ((expected % number) + number) % number;
        expression = Size::floorDiv(expression, operand), expected = (expected - rest) / number;
        break;
      }
      case 6:
        if (number == 0)
          break;
        expression = Size::mod(expression, operand), expected = ((expected % number) + number) % number;
        break;
      }
    }
    ASSERT_EQ(expression.evaluate(value), expected) << expression.str();
    auto again = Size::parse(expression.str());
    ASSERT_TRUE(again) << expression.str();
    ASSERT_EQ(again->str(), expression.str());
  }
}

} // namespace
