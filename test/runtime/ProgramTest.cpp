// Whole programs: the command line, inputs, messages, outputs. The entry is a C++ function with the signature
// `main(x: f32[n, d], y: f32[n], lr: f32 = 0.2, steps: i32 = 1000) -> (w: f32[d], b: f32)`.

#include "pmap/program.h"
#include "runtime/io/Files.h"
#include "runtime/io/SizeExpression.h"
#include "test/runtime/Arrays.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pmap::rt;
using namespace pmap::test;

namespace {

const char *const nd[] = {"n", "d"};
const char *const n[] = {"n"};
const char *const d[] = {"d"};
const char *const symbols[] = {"n", "d"};
const pmap_leaf parameters[] = {{"x", PMAP_f32, 2, nd, nullptr, "one row per sample"},
                                {"y", PMAP_f32, 1, n, nullptr, nullptr},
                                {"lr", PMAP_f32, 0, nullptr, "0.2", nullptr},
                                {"steps", PMAP_i32, 0, nullptr, "1000", nullptr}};
const pmap_leaf results[] = {{"w", PMAP_f32, 1, d, nullptr, nullptr}, {"b", PMAP_f32, 0, nullptr, nullptr, nullptr}};
constexpr const char *declaration =
    "main(x: f32[n, d], y: f32[n], lr: f32 = 0.2, steps: i32 = 1000) -> (w: f32[d], b: f32)";
const pmap_signature signature{"main", declaration, "Fits a line.", 2, 4, 2, symbols, parameters, results};

/// w = lr * column sums of x, b = sum of y + steps; fails for steps < 0.
void entry(void **args) {
  int64_t rows = *(int64_t *)args[0], columns = *(int64_t *)args[1];
  float *x = dataOf<float>(args[2]), *y = dataOf<float>(args[3]), lr = *(float *)args[4];
  int32_t steps = *(int32_t *)args[5];
  static constexpr pmap_site negative{"fit.pmap", 3, 1, "steps are positive"};
  if (steps < 0)
    pmap_rt_fail(&negative, PMAP_FAIL_ASSERT, 0, 0, 0);
  float *w = fresh<float>(args[6], {columns});
  std::fill(w, w + columns, 0.0f);
  float b = (float)steps;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      w[j] += lr * x[i * columns + j];
    b += y[i];
  }
  *(float *)args[7] = b;
}

const pmap_program fit{"fit", entry, &signature, nullptr, nullptr, 0};

/// The identity of one array of a dtype, for inputs of every kind.
const pmap_leaf lone[] = {{"x", PMAP_f32, 1, n, nullptr, nullptr}};
const pmap_leaf loneResult[] = {{"", PMAP_f32, 1, n, nullptr, nullptr}};

void identity(void **args) { memcpy(args[2], args[1], sizeof(pmap_array) + 16); }
const pmap_signature identitySignature{"main", "main(x: f32[n]) -> f32[n]", nullptr, 1, 1, 1, n, lone, loneResult};
const pmap_program same{"same", identity, &identitySignature, nullptr, nullptr, 0};

struct Result {
  int status;
  std::string out, err;
};

class Program : public testing::Test {
protected:
  std::string folder;

  void SetUp() override {
    folder = testing::TempDir() + "/program-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    save("x.npy", PMAP_f32, {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
    save("y.npy", PMAP_f32, {3}, std::vector<float>{1, 1, 1});
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) { return folder + "/" + name; }

  template <typename T>
  void save(const std::string &name, int32_t dtype, std::vector<int64_t> sizes, const std::vector<T> &values) {
    ASSERT_FALSE(writeNpy(path(name), {"", dtype, sizes, values.data()}));
  }
  void text(const std::string &name, const std::string &bytes) { std::ofstream(path(name), std::ios::binary) << bytes; }
  std::string bytes(const std::string &name) {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Runs with arguments in which `@` stands for the test's folder; the folder is taken out of what it prints.
  Result run(const pmap_program &program, std::vector<std::string> words) {
    for (std::string &word : words)
      if (size_t at = word.find('@'); at != std::string::npos)
        word.replace(at, 1, folder + "/");
    std::vector<char *> argv{const_cast<char *>(program.name)};
    for (std::string &word : words)
      argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Result result;
    result.status = pmap_program_main(&program, (int32_t)argv.size(), argv.data());
    result.out = testing::internal::GetCapturedStdout();
    result.err = testing::internal::GetCapturedStderr();
    for (size_t at; (at = result.err.find(folder + "/")) != std::string::npos;)
      result.err.erase(at, folder.size() + 1);
    return result;
  }
  Result run(std::vector<std::string> words) { return run(fit, std::move(words)); }

  /// The message of one bad input, without the signature's note.
  std::string wrong(std::vector<std::string> words) {
    Result result = run(std::move(words));
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.out, "");
    std::string last = std::string("note: the signature is ") + declaration + "\n";
    if (result.err.ends_with(last))
      result.err.resize(result.err.size() - last.size());
    return result.err;
  }
};

TEST_F(Program, PrintsItsResult) {
  Result result = run({"x=@x.npy", "y=@y.npy", "lr=0.5", "steps=7"});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, "w: [4.5 6. ]\nb: 10.0\n");
  EXPECT_EQ(result.status, 0);
}

TEST_F(Program, DefaultsAndLiterals) {
  EXPECT_EQ(run({"x=[[1, 2], [3, 4]]", "y=[1,1]"}).out, "w: [0.8 1.2]\nb: 1002.0\n");
  EXPECT_EQ(run({"x=[[], []]", "y=[1,1]"}).out, "w: []\nb: 1002.0\n");
  EXPECT_EQ(run({"x=[]", "y=[]", "steps=0"}).out, "w: []\nb: 0.0\n");
}

TEST_F(Program, WritesAndReadsArchives) {
  EXPECT_EQ(run({"x=@x.npy", "y=@y.npy", "lr=1", "-o", "@m.npz"}).status, 0);
  Archive archive;
  ASSERT_FALSE(archive.open(path("m.npz")));
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"w", "b"}));
  HostArray w;
  ASSERT_FALSE(archive.read("w", w));
  EXPECT_EQ(((float *)w.data)[1], 12);
  w.release();
  EXPECT_EQ(run({"x=[[1, 1]]", "y=@m.npz:b", "steps=0"}).status, 2) << "a scalar is no vector";
  EXPECT_EQ(run({"x=[[1], [1]]", "y=@m.npz:w", "steps=0"}).out, "w: [0.4]\nb: 21.0\n");
  // Equal results are equal files.
  EXPECT_EQ(run({"x=@x.npy", "y=@y.npy", "lr=1", "-o=@again.npz"}).status, 0);
  EXPECT_EQ(bytes("m.npz"), bytes("again.npz"));
}

TEST_F(Program, Names) {
  EXPECT_EQ(wrong({"x=@x.npy"}), "error: input 'y' is missing, expected f32[n] [E1011]\n");
  EXPECT_EQ(wrong({}), "error: input 'x' is missing, expected f32[n, d] [E1011]\n"
                       "error: input 'y' is missing, expected f32[n] [E1011]\n");
  EXPECT_EQ(wrong({"x=@x.npy", "y=@y.npy", "step=3"}), "error: main has no input 'step' [E1012]\n"
                                                       "note: did you mean 'steps'?\n");
  EXPECT_EQ(wrong({"x=@x.npy", "y=@y.npy", "lr=1", "lr=2"}), "error: input 'lr' is given twice [E1013]\n");
}

TEST_F(Program, Flags) {
  EXPECT_EQ(wrong({"--device", "2"}),
            "error: unknown flag '--device' [E1010]\nnote: did you mean '--devices'?\n"
            "error: expected name=value or a flag, got '2' [E1010]\nnote: inputs are written name=value\n");
  EXPECT_EQ(wrong({"--devices", "0"}), "error: expected a number from 1 to 1024 after '--devices', got '0' [E1010]\n");
  EXPECT_EQ(wrong({"--timeout"}), "error: flag '--timeout' needs a value, S [E1010]\n");
  EXPECT_EQ(wrong({"--nan-trap"}), "error: flag '--nan-trap' is not supported yet [E1010]\n");
  EXPECT_EQ(wrong({"data.npy"}), "error: expected name=value or a flag, got 'data.npy' [E1010]\n"
                                 "note: inputs are written name=value, such as x=data.npy\n");
  EXPECT_EQ(run({"x=@x.npy", "y=@y.npy", "--devices=3", "--threads", "2", "--deterministic", "--timeout", "5"}).status,
            0);
  Result timed = run({"x=@x.npy", "y=@y.npy", "--time"});
  EXPECT_NE(timed.err.find("run "), std::string::npos);
  EXPECT_NE(timed.err.find("copied between devices"), std::string::npos);
}

TEST_F(Program, Same) {
  Result result = run({"x=@x.npy", "y=@y.npy", "--devices", "1,2,3", "--same"});
  EXPECT_EQ(result.out, "2 devices against 1: the same bits\n3 devices against 1: the same bits\n");
  EXPECT_EQ(wrong({"--devices", "1,2"}), "error: several numbers of devices need '--same' [E1010]\n"
                                         "note: it runs on each and compares the results\n");
  EXPECT_EQ(wrong({"--same"}), "error: '--same' needs several numbers of devices [E1010]\n"
                               "note: such as --devices 1,2,4,8 --same\n");
}

TEST_F(Program, Blocks) {
  save("part-9.npy", PMAP_f32, {2}, std::vector<float>{1, 2});
  save("part-10.npy", PMAP_f32, {1}, std::vector<float>{3});
  EXPECT_EQ(run(same, {"x=@part-*.npy"}).out, "[1. 2. 3.]\n");
  save("part-11.npy", PMAP_f32, {1, 2}, std::vector<float>{3, 4});
  EXPECT_NE(run(same, {"x=@part-*.npy"})
                .err.find("part-11.npy: error: blocks differ: f32[1, 2], expected the dtype and inner "
                          "sizes of f32[2] in part-9.npy [E1017]"),
            std::string::npos);
  EXPECT_NE(run(same, {"x=@none-*.npy"}).err.find("no file matches the pattern [E1018]"), std::string::npos);
}

TEST_F(Program, Help) {
  Result result = run({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("usage: fit x=... y=... [lr=0.2] [steps=1000] [flags]\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(declaration), std::string::npos);
  EXPECT_NE(result.out.find("  Fits a line.\n"), std::string::npos);
  EXPECT_NE(result.out.find("  x             f32[n, d]   one row per sample\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  lr            f32         default 0.2\n"), std::string::npos);
}

TEST_F(Program, Values) {
  EXPECT_EQ(wrong({"x=@x.npy", "y=@y.npy", "steps=1.5"}), "steps=1.5: error: expected an i32, got '1.5' [E1014]\n");
  EXPECT_EQ(wrong({"x=@x.npy", "y=[1, 2"}), "y=[1, 2: error: a '[' is not closed [E1014]\n");
  EXPECT_EQ(wrong({"x=[[1, 2], [3]]", "y=[1]"}),
            "x=[[1, 2], [3]]: error: the lists have different lengths, 2 and 1 [E1014]\n");
  EXPECT_EQ(wrong({"x=[1, 2]", "y=[1]"}), "x=[1, 2]: error: expected rank 2, got rank 1 [E1016]\n");
  EXPECT_EQ(wrong({"x=[[1]]", "y=1"}), "y=1: error: expected rank 1, got rank 0 [E1016]\n");
  EXPECT_EQ(wrong({"x=[[1]]", "y=[[1]]"}), "y=[[1]]: error: expected rank 1, got a list of rank 2 or more [E1016]\n");
  EXPECT_EQ(wrong({"x=@x.csv", "y=[1]"}),
            "x=x.csv: error: expected a value or a file for f32[n, d], got neither: there is no such file [E1018]\n"
            "note: files are .npy, or .npz with the name of an array, data.npz:x\n");
  text("x.csv", "1,2\n");
  EXPECT_EQ(wrong({"x=@x.csv", "y=[1]"}),
            "x=x.csv: error: expected a .npy or .npz file for f32[n, d], got a file of another form [E1024]\n"
            "note: save it with np.save(\"x.npy\", np.loadtxt(\"x.csv\", dtype=np.float32, delimiter=\",\"))\n");
  std::filesystem::create_directory(path("dir"));
  EXPECT_EQ(wrong({"x=@dir", "y=[1]"}),
            "x=dir: error: expected a value or a file for f32[n, d], got a folder [E1018]\n"
            "note: name a file in it, x=dir/x.npy, or the blocks of one array, x='dir/*.npy'\n");
  EXPECT_EQ(wrong({"x=x", "y=[1]"}), "x=x: error: expected a value or a file for f32[n, d], got 'x' [E1014]\n");
  EXPECT_EQ(wrong({"x=[[1]]", "y=[1]", "lr=1e39"}),
            "lr=1e39: error: expected an f32, got '1e39', which does not fit [E1014]\n");
}

TEST_F(Program, TypesAndRanks) {
  save("x64.npy", PMAP_f64, {3, 2}, std::vector<double>(6));
  EXPECT_EQ(wrong({"x=@x64.npy", "y=@y.npy"}), "x=x64.npy: error: expected dtype f32, got f64 [E1015]\n"
                                               "note: the file holds f64[3, 2], input 'x' is f32[n, d]\n"
                                               "note: convert it with np.save(path, array.astype(np.float32))\n");
  EXPECT_EQ(wrong({"x=@y.npy", "y=@y.npy"}), "x=y.npy: error: expected rank 2, got rank 1 [E1016]\n"
                                             "note: the file holds f32[3], input 'x' is f32[n, d]\n");
}

TEST_F(Program, SizesAcrossInputs) {
  EXPECT_EQ(wrong({"x=@x.npy", "y=[1, 2]"}),
            "y=[1, 2]: error: sizes differ: dimension 0 of y is 2, expected n = 3 from dimension 0 of x [E1017]\n");
}

TEST_F(Program, Files) {
  EXPECT_EQ(wrong({"x=@none.npy", "y=@y.npy"}),
            "none.npy: error: cannot read the file: no such file or directory [E1018]\n");
  std::filesystem::create_directory(path("dir.npy"));
  EXPECT_EQ(wrong({"x=@dir.npy", "y=@y.npy"}), "dir.npy: error: cannot read the file: is a directory [E1018]\n");
  std::string good = bytes("x.npy");
  text("bad.npy", "PK" + good.substr(2));
  EXPECT_EQ(wrong({"x=@bad.npy", "y=@y.npy"}),
            "bad.npy: error: not a .npy file: it does not begin with the mark \\x93NUMPY [E1020]\n");
  text("bad.npy", good.substr(0, good.size() - 1));
  EXPECT_EQ(wrong({"x=@bad.npy", "y=@y.npy"}),
            "bad.npy: error: the file is truncated: f32[3, 2] needs 24 bytes, it holds 23 [E1021]\n");
  text("bad.npy", good.substr(0, 40));
  EXPECT_NE(wrong({"x=@bad.npy", "y=@y.npy"})
                .find("the file ends within its header: expected 118 bytes of it, got 30 [E1021]"),
            std::string::npos);
  text("bad.npy", good + "!");
  EXPECT_EQ(wrong({"x=@bad.npy", "y=@y.npy"}),
            "bad.npy: error: the file is too long: f32[3, 2] needs 24 bytes, it holds 25 [E1022]\n");
  auto edited = [&](const std::string &from, const std::string &to) {
    std::string copy = good;
    size_t at = copy.find(from);
    copy.replace(at, from.size(), to);
    // The header keeps its length: blanks go or come before its newline.
    while (copy.size() > good.size())
      copy.erase(copy.find(" \n"), 1);
    while (copy.size() < good.size())
      copy.insert(copy.find('\n'), " ");
    text("bad.npy", copy);
    return wrong({"x=@bad.npy", "y=@y.npy"});
  };
  EXPECT_EQ(edited("(3, 2)", "(4611686018427387904, 4)"),
            "bad.npy: error: damaged header: the array would have more bytes than 64 bits can count [E1023]\n");
  EXPECT_EQ(edited("(3, 2)", "(99999999999999999999, 2)"),
            "bad.npy: error: damaged header: the array would have more bytes than 64 bits can count [E1023]\n");
  EXPECT_EQ(
      edited("(3, 2)", "(1000000000000, 2)"),
      "bad.npy: error: the file is truncated: f32[1000000000000, 2] needs 8000000000000 bytes, it holds 24 [E1021]\n");
  EXPECT_NE(edited("'<f4'", "'<c8'").find("complex numbers ('<c8'), which have no dtype here [E1025]"),
            std::string::npos);
  EXPECT_NE(edited("'<f4'", "'|O'").find("Python objects, which have no dtype here [E1025]"), std::string::npos);
  EXPECT_NE(edited("'<f4'", "[('a', '<f4')]").find("the array holds records, which have no dtype here [E1025]"),
            std::string::npos);
  EXPECT_NE(edited("(3, 2)", "(3, -2)").find("damaged header: expected a dictionary"), std::string::npos);
  EXPECT_NE(edited("'descr'", "'desc'").find("damaged header: expected a dictionary"), std::string::npos);
}

TEST_F(Program, BigEndianIsSwapped) {
  std::string good = bytes("x.npy");
  size_t at = good.find("<f4");
  good[at] = '>';
  for (size_t i = good.size() - 24; i < good.size(); i += 4)
    std::reverse(good.begin() + (long)i, good.begin() + (long)i + 4);
  text("big.npy", good);
  EXPECT_EQ(run({"x=@big.npy", "y=@y.npy", "lr=1", "steps=0"}).out, "w: [ 9. 12.]\nb: 3.0\n");
}

TEST_F(Program, LargeFilesAreMapped) {
  save("big.npy", PMAP_f32, {100000, 2}, std::vector<float>(200000, 1));
  save("rows.npy", PMAP_f32, {100000}, std::vector<float>(100000, 1));
  EXPECT_EQ(run({"x=@big.npy", "y=@rows.npy", "lr=1", "steps=0"}).out, "w: [100000. 100000.]\nb: 100000.0\n");
}

TEST_F(Program, Archives) {
  EXPECT_EQ(wrong({"x=@x.npy", "y=@none.npz:y"}),
            "none.npz: error: cannot read the file: no such file or directory [E1018]\n");
  text("bad.npz", "nothing");
  EXPECT_EQ(
      wrong({"x=@x.npy", "y=@bad.npz:y"}),
      "bad.npz: error: not a .npz archive: no directory of a zip file at its end [E1026]\nnote: it may be truncated\n");
  EXPECT_EQ(run({"x=@x.npy", "y=@y.npy", "-o", "@m.npz"}).status, 0);
  EXPECT_EQ(wrong({"x=@x.npy", "y=@m.npz:v"}),
            "m.npz: error: the archive has no array 'v' [E1026]\nnote: it holds: w b\n"
            "note: name one of them: y=m.npz:w\n");
  std::string good = bytes("m.npz");
  good[good.find("\n") + 2] ^= 1; // In the data of w.
  text("bad.npz", good);
  EXPECT_EQ(wrong({"x=[[1], [1]]", "y=@bad.npz:w"}),
            "bad.npz:w: error: damaged archive: the checksum of the array does not match [E1026]\n");
}

TEST_F(Program, Outputs) {
  EXPECT_EQ(wrong({"x=@x.npy", "y=@y.npy", "-o", "@none/m.npz"}),
            "none/m.npz: error: cannot write the file: the folder 'none' does not exist [E1027]\n");
  EXPECT_EQ(wrong({"x=@x.npy", "y=@y.npy", "-o", "@m.npy"}),
            "m.npy: error: a result of several arrays does not fit one .npy file [E1028]\nnote: write it to a .npz "
            "archive\n");
  EXPECT_EQ(wrong({"x=@x.npy", "y=@y.npy", "-o", "@m.txt"}),
            "m.txt: error: expected a file name that ends in .npy or .npz [E1028]\n");
  if (geteuid() != 0) {
    text("locked.npz", "");
    chmod(path("locked.npz").c_str(), 0400);
    EXPECT_NE(wrong({"x=@x.npy", "y=@y.npy", "-o", "@locked.npz"}).find("permission denied [E1027]"),
              std::string::npos);
  }
}

TEST_F(Program, AFullDiskLeavesNothing) {
  Result result = run(same, {"x=@y.npy", "-o", "/dev/full"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "/dev/full: error: cannot write the file: no space left on device [E1027]\n");
}

TEST_F(Program, AWriteThatFailsHalfWayLeavesNothing) {
  // A limit on file sizes stands in for a small disk.
  save("big.npy", PMAP_f32, {100000}, std::vector<float>(100000, 1));
  pid_t child = fork();
  if (child == 0) {
    rlimit limit{100000, 100000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    std::vector<float> values(100000, 1);
    Problem one = writeNpy(path("out.npy"), {"", PMAP_f32, {100000}, values.data()});
    Problem two = writeNpz(path("out.npz"), {{"a", PMAP_f32, {100000}, values.data()}});
    _exit(one.code == "E1027" && two.code == "E1027" ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(entry.path().filename().string().find("out"), std::string::npos) << entry.path();
}

TEST_F(Program, AnInputMayBeTheResult) {
  EXPECT_EQ(run(same, {"x=[1, 2.5]"}).out, "[1.  2.5]\n");
  EXPECT_EQ(run(same, {"x=[nan, 1]"}).out, "[nan  1.]\n");
  EXPECT_EQ(run(same, {"x=@y.npy", "-o", "@z.npy"}).status, 0);
  EXPECT_EQ(bytes("z.npy"), bytes("y.npy"));
  // Onto its own input.
  EXPECT_EQ(run(same, {"x=@y.npy", "-o", "@y.npy"}).status, 0);
  EXPECT_EQ(bytes("z.npy"), bytes("y.npy"));
}

TEST_F(Program, ARunTimeErrorWritesNothing) {
  Result result = run({"x=@x.npy", "y=@y.npy", "steps=-1", "-o", "@m.npz"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "fit.pmap:3:1: error: assertion failed: steps are positive [E1102]\n");
  EXPECT_FALSE(std::filesystem::exists(path("m.npz")));
}

TEST(SizeExpressions, Values) {
  Symbols symbols{{"n", 10}, {"d", 3}, {"n.1", 4}, {"@data", 2}};
  EXPECT_EQ(evaluateSize("2*d+1", symbols), 7);
  EXPECT_EQ(evaluateSize("-d+n", symbols), 7);
  EXPECT_EQ(evaluateSize("(n)/(2)", symbols), 5);
  EXPECT_EQ(evaluateSize("(n)/(4)", symbols), std::nullopt);
  EXPECT_EQ(evaluateSize("(n)/(4)+(n)/(4)", symbols), 5) << "exact as a whole";
  EXPECT_EQ(evaluateSize("(n-1)*(n+1)/(11)", symbols), 9);
  EXPECT_EQ(evaluateSize("floordiv(-n,d)", symbols), -4);
  EXPECT_EQ(evaluateSize("mod(-n,d)", symbols), 2);
  EXPECT_EQ(evaluateSize("min(n,d)*max(n.1,@data)", symbols), 12);
  EXPECT_EQ(evaluateSize("k", symbols), std::nullopt);
  EXPECT_EQ(evaluateSize("(n)/(d-3)", symbols), std::nullopt);
  EXPECT_EQ(symbolsOf("floordiv(n,2)*d+n"), (std::vector<std::string>{"n", "d"}));
}

} // namespace
