// .npy files and .npz archives as inputs.

#include "pmap/runtime.h"
#include "runtime/core/Context.h"
#include "runtime/io/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <glob.h>
#include <minizip/unzip.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pmap::rt;

namespace {

/// A pipe that nobody writes to is an error like other things that are no regular files; opening it must not wait.
constexpr int openFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

/// Smaller files are read: a mapping costs more than the copy.
constexpr int64_t mapBytes = 256 << 10;

struct FileSource : ByteSource {
  int fd = -1;

  ~FileSource() override {
    if (fd >= 0)
      close(fd);
  }
  int64_t read(void *target, int64_t bytes) override {
    int64_t done = 0;
    while (done < bytes) {
      ssize_t got = ::read(fd, (char *)target + done, (size_t)(bytes - done));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        break;
      done += got;
    }
    return done;
  }
};

struct EntrySource : ByteSource {
  unzFile zip = nullptr;
  bool damaged = false; ///< The compressed bytes make no sense.

  int64_t read(void *target, int64_t bytes) override {
    int64_t done = 0;
    while (done < bytes) {
      int got = unzReadCurrentFile(zip, (char *)target + done, (unsigned)std::min<int64_t>(bytes - done, 1 << 30));
      damaged |= got < 0;
      if (got <= 0)
        break;
      done += got;
    }
    return done;
  }
};

Problem cannotRead(const std::string &path, int error) {
  return {"E1018", path, "cannot read the file: " + systemReason(error), {}};
}

/// Maps the file with its data in place. One readable page lies before it, because the runtime looks at the 64 bytes
/// before a buffer to tell its own from others'.
bool mapFile(int fd, const NpyHeader &header, int64_t fileBytes, HostArray &array) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), span = page + (size_t)fileBytes;
  char *base = (char *)mmap(nullptr, span, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return false;
  // Populating at once costs a fraction of the faults that would come one by one.
  if (mmap(base + page, (size_t)fileBytes, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED) {
    munmap(base, span);
    return false;
  }
  array.dtype = header.dtype;
  array.sizes = header.sizes;
  array.mapping = base;
  array.mappingBytes = span;
  array.data = base + page + header.dataOffset;
  array.owner = array.data;
  return true;
}

} // namespace

Problem pmap::rt::readNpy(const std::string &path, HostArray &array) {
  FileSource source;
  source.fd = open(path.c_str(), openFlags);
  if (source.fd < 0)
    return cannotRead(path, errno);
  struct stat status;
  if (fstat(source.fd, &status))
    return cannotRead(path, errno);
  if (S_ISDIR(status.st_mode))
    return cannotRead(path, EISDIR);
  if (!S_ISREG(status.st_mode))
    return {"E1018", path, "cannot read the file: not a regular file", {}};
  source.size = status.st_size;
  NpyHeader header;
  if (Problem problem = readNpyHeader(source, path, header))
    return problem;
  if (header.dataBytes >= mapBytes && !header.swapped && !header.columns && header.dtype != PMAP_bool &&
      header.dataOffset % 64 == 0 && mapFile(source.fd, header, status.st_size, array))
    return {};
  return readNpyData(source, path, header, array);
}

Problem pmap::rt::readBlocks(const std::string &pattern, const std::string &subject, HostArray &array) {
  glob_t matches{};
  std::vector<std::string> paths;
  if (!glob(pattern.c_str(), 0, nullptr, &matches))
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  if (paths.empty())
    return {
        "E1018", subject, "no file matches the pattern", {"it names the .npy files that hold the blocks of the array"}};
  std::sort(paths.begin(), paths.end(),
            [](const std::string &a, const std::string &b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
  std::vector<HostArray> blocks(paths.size());
  Problem problem;
  int64_t along = 0;
  for (size_t i = 0; i < paths.size() && !problem; ++i) {
    HostArray &block = blocks[i];
    problem = readNpy(paths[i], block);
    if (problem)
      break;
    const HostArray &first = blocks[0];
    if (block.sizes.empty())
      problem = {"E1016", paths[i], "a scalar is no block of an array", {}};
    else if (block.dtype != first.dtype || block.sizes.size() != first.sizes.size() ||
             !std::equal(block.sizes.begin() + 1, block.sizes.end(), first.sizes.begin() + 1))
      problem = {"E1017",
                 paths[i],
                 "blocks differ: " + typeText(block.dtype, block.sizes) + ", expected the dtype and inner sizes of " +
                     typeText(first.dtype, first.sizes) + " in " + paths[0],
                 {}};
    else
      along += block.sizes[0];
  }
  if (!problem) {
    array.dtype = blocks[0].dtype;
    array.sizes = blocks[0].sizes;
    array.sizes[0] = along;
    int64_t bytes = array.elements() * pmap_dtype_bytes(array.dtype);
    array.owner = context().host->arena->allocate(bytes);
    array.data = (char *)array.owner;
    if (!array.owner)
      problem = {"E1018", subject, "not enough memory for " + typeText(array.dtype, array.sizes), {}};
    char *at = array.data;
    for (size_t i = 0; i < blocks.size() && !problem; ++i) {
      int64_t size = blocks[i].elements() * pmap_dtype_bytes(array.dtype);
      memcpy(at, blocks[i].data, (size_t)size);
      at += size;
    }
  }
  for (HostArray &block : blocks)
    block.release();
  return problem;
}

Archive::~Archive() {
  if (zip)
    unzClose(zip);
}

Problem Archive::open(const std::string &file) {
  path = file;
  int fd = ::open(path.c_str(), openFlags);
  if (fd < 0)
    return cannotRead(path, errno);
  struct stat status;
  bool known = !fstat(fd, &status);
  close(fd);
  if (known && S_ISDIR(status.st_mode))
    return cannotRead(path, EISDIR);
  if (!known || !S_ISREG(status.st_mode))
    return {"E1018", path, "cannot read the file: not a regular file", {}};
  if (status.st_size == 0)
    return {"E1026", path, "not a .npz archive: the file is empty", {}};
  zip = unzOpen64(path.c_str());
  if (!zip)
    return {"E1026", path, "not a .npz archive: no directory of a zip file at its end", {"it may be truncated"}};
  int found = unzGoToFirstFile(zip);
  for (; found == UNZ_OK; found = unzGoToNextFile(zip)) {
    char name[1024] = {};
    if (unzGetCurrentFileInfo64(zip, nullptr, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) != UNZ_OK)
      return {"E1026", path, "damaged archive: its directory cannot be read", {}};
    std::string entry = name;
    if (entry.ends_with(".npy"))
      entries.push_back(entry.substr(0, entry.size() - 4));
  }
  if (found != UNZ_END_OF_LIST_OF_FILE)
    return {"E1026", path, "damaged archive: its directory cannot be read", {"it may be truncated"}};
  return {};
}

bool Archive::has(const std::string &name) const {
  return std::find(entries.begin(), entries.end(), name) != entries.end();
}

Problem Archive::read(const std::string &name, HostArray &array) {
  std::string subject = path + ":" + name;
  if (!has(name)) {
    Problem problem{"E1026", path, "the archive has no array '" + name + "'", {}};
    std::string list;
    for (const std::string &entry : entries)
      list += (list.empty() ? "" : " ") + entry;
    problem.notes.push_back(list.empty() ? "it holds no arrays" : "it holds: " + list);
    return problem;
  }
  unz_file_info64 info;
  if (unzLocateFile(zip, (name + ".npy").c_str(), 1) != UNZ_OK ||
      unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
    return {"E1026", subject, "damaged archive: the entry cannot be found", {}};
  if (int status = unzOpenCurrentFile(zip); status != UNZ_OK)
    return {"E1026",
            subject,
            info.compression_method != 0 && info.compression_method != 8
                ? format("unknown compression (method %lu)", info.compression_method)
                : "damaged archive: the entry cannot be opened",
            {}};
  EntrySource source;
  source.zip = zip;
  source.size = (int64_t)info.uncompressed_size;
  NpyHeader header;
  Problem problem = readNpyHeader(source, subject, header);
  if (!problem)
    problem = readNpyData(source, subject, header, array);
  if (source.damaged) {
    array.release();
    problem = {"E1026", subject, "damaged archive: the array cannot be decompressed", {}};
  }
  // The checksum is compared when the entry has been read whole.
  if (unzCloseCurrentFile(zip) == UNZ_CRCERROR && !problem) {
    array.release();
    problem = {"E1026", subject, "damaged archive: the checksum of the array does not match", {}};
  }
  return problem;
}
