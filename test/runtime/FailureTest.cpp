// Messages of run-time errors, and unwinding.

#include "test/runtime/Arrays.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace pmap::test;

namespace {

std::string failing(int32_t kind, int64_t a, int64_t b, int64_t c, const char *text = nullptr) {
  pmap_site site{"linreg.pmap", 12, 5, text};
  return launch([&] { pmap_rt_fail(&site, kind, a, b, c); });
}

TEST(Failure, Messages) {
  EXPECT_EQ(failing(PMAP_FAIL_INDEX, 7, 0, 7),
            "linreg.pmap:12:5: error: index 7 is out of range for dimension 0 of size 7 [E1101]\n");
  EXPECT_EQ(failing(PMAP_FAIL_ASSERT, 0, 0, 0, "w is positive"),
            "linreg.pmap:12:5: error: assertion failed: w is positive [E1102]\n");
  EXPECT_EQ(failing(PMAP_FAIL_ASSERT, 0, 0, 0), "linreg.pmap:12:5: error: assertion failed [E1102]\n");
  EXPECT_EQ(failing(PMAP_FAIL_INEXACT, 7, 2, 0), "linreg.pmap:12:5: error: division is not exact: 7 / 2 [E1103]\n");
  EXPECT_EQ(failing(PMAP_FAIL_CAST, 4, 5, 1),
            "linreg.pmap:12:5: error: expected size 4 for dimension 1, got 5 [E1105]\n");
}

TEST(Failure, TellsASitesOwnText) {
  EXPECT_EQ(failing(PMAP_FAIL_SLICE, 0, 3, 2, "E1104 at most {c}, got {b}, in {a}\nuse less"),
            "linreg.pmap:12:5: error: at most 2, got 3, in 0 [E1104]\nnote: use less\n");
  EXPECT_EQ(failing(PMAP_FAIL_INDEX, 6, 0, 3, "E1124 sends to {a-1} of {c-1}"),
            "linreg.pmap:12:5: error: sends to 5 of 2 [E1124]\n");
  EXPECT_EQ(failing(PMAP_FAIL_TOLD, 0, 0, 0, "E1124 two send to one"),
            "linreg.pmap:12:5: error: two send to one [E1124]\n");
  // The program's own words keep their braces.
  EXPECT_EQ(failing(PMAP_FAIL_ASSERT, 1, 2, 3, "E1104 {a} holds"),
            "linreg.pmap:12:5: error: assertion failed: E1104 {a} holds [E1102]\n");
}

TEST(Failure, WithoutAPlace) {
  std::string message = launch([] { pmap_rt_fail(nullptr, PMAP_FAIL_DIVIDE_BY_ZERO, 0, 0, 0); });
  EXPECT_EQ(message, "error: integer division by zero [E1109]\n");
}

TEST(Failure, ShowsTheSourceLine) {
  std::string path = testing::TempDir() + "/failure.pmap";
  std::ofstream(path) << "fn f(x) =\n  x[7]\n";
  pmap_site site{path.c_str(), 2, 4, nullptr};
  std::string message = launch([&] { pmap_rt_fail(&site, PMAP_FAIL_INDEX, 7, 0, 7); });
  EXPECT_EQ(message, path + ":2:4: error: index 7 is out of range for dimension 0 of size 7 [E1101]\n"
                            "    x[7]\n"
                            "     ^\n");
  std::filesystem::remove(path);
}

TEST(Failure, ShowsAPartOfALongLine) {
  std::string path = testing::TempDir() + "/long.pmap", before(300, 'a'), after(300, 'b');
  std::ofstream(path) << before + "é!" + after + "\n";
  pmap_site site{path.c_str(), 1, 303, nullptr};
  std::string message = launch([&] { pmap_rt_fail(&site, PMAP_FAIL_DIVIDE_BY_ZERO, 0, 0, 0); });
  EXPECT_EQ(message, path +
                         ":1:303: error: integer division by zero [E1109]\n"
                         "  ..." +
                         std::string(38, 'a') + "é!" + std::string(79, 'b') + "...\n" + std::string(44, ' ') + "^\n");
  std::filesystem::remove(path);
}

TEST(Failure, ALaunchAfterAFailureIsClean) {
  EXPECT_NE(failing(PMAP_FAIL_INDEX, 1, 0, 1), "");
  EXPECT_EQ(launch([] {}), "");
}

} // namespace
