// Damaged files: whatever bytes change, reading ends with an array or a message. Run under the address sanitizer this
// finds reads past the end.

#include "runtime/io/Files.h"
#include "test/runtime/Arrays.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace pmap::rt;
using namespace pmap::test;

namespace {

struct MemorySource : ByteSource {
  std::string bytes;
  size_t at = 0;

  explicit MemorySource(std::string text) : bytes(std::move(text)) { size = (int64_t)bytes.size(); }
  int64_t read(void *target, int64_t wanted) override {
    size_t count = std::min((size_t)wanted, bytes.size() - at);
    memcpy(target, bytes.data() + at, count);
    at += count;
    return (int64_t)count;
  }
};

class Damage : public testing::Test {
protected:
  // Thousands of files are slow on some disks.
  std::string folder = (std::filesystem::exists("/dev/shm") ? std::string("/dev/shm") : testing::TempDir()) +
                       "/pmap-damage-" + std::to_string(getpid());
  std::mt19937 random{7};

  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Changes, removes or inserts a few bytes, mostly within the first `head` ones.
  std::string damaged(std::string bytes, size_t head) {
    int edits = 1 + (int)(random() % 4);
    for (int i = 0; i < edits && !bytes.empty(); ++i) {
      size_t at = random() % std::min(bytes.size(), random() % 4 ? head : bytes.size());
      switch (random() % 5) {
      case 0:
        bytes.erase(at, 1 + random() % 8);
        break;
      case 1:
        bytes.insert(at, 1 + random() % 4, "0123456789(),'<>fiuV[]{} \n"[random() % 26]);
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        bytes[at] = random() % 2 ? (char)random() : "0123456789(),'<>fiuV"[random() % 20];
      }
    }
    return bytes;
  }
};

TEST_F(Damage, Npy) {
  std::string path = folder + "/x.npy";
  std::vector<float> values(24, 1);
  ASSERT_FALSE(writeNpy(path, {"", PMAP_f32, {4, 6}, values.data()}));
  std::string good = read(path);
  int readable = 0;
  for (int i = 0; i < 20000; ++i) {
    MemorySource source(damaged(good, 80));
    NpyHeader header;
    HostArray array;
    Problem problem = readNpyHeader(source, "x.npy", header);
    if (!problem)
      problem = readNpyData(source, "x.npy", header, array);
    if (problem) {
      EXPECT_TRUE(problem.code.starts_with("E10")) << problem.render();
      continue;
    }
    ++readable;
    // All of what it claims to hold can be read.
    volatile char sum = 0;
    for (int64_t k = 0; k < array.elements() * pmap_dtype_bytes(array.dtype); ++k)
      sum = (char)(sum + array.data[k]);
    array.release();
  }
  EXPECT_GT(readable, 0);
}

TEST_F(Damage, Npz) {
  std::string path = folder + "/x.npz";
  std::vector<float> values(24, 1);
  ASSERT_FALSE(writeNpz(path, {{"w", PMAP_f32, {4, 6}, values.data()}, {"b", PMAP_f32, {24}, values.data()}}));
  std::string good = read(path);
  for (int i = 0; i < 1000; ++i) {
    std::ofstream(path, std::ios::binary) << damaged(good, good.size());
    Archive archive;
    Problem problem = archive.open(path);
    if (problem)
      continue;
    for (const std::string &name : archive.names()) {
      HostArray array;
      if (!archive.read(name, array))
        array.release();
    }
  }
}

} // namespace
