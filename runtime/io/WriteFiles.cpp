// .npy files and .npz archives as outputs: all or nothing.

#include "pmap/runtime.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Files.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <minizip/zip.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace pmap::rt;

namespace {

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Problem cannotWrite(const std::string &path, int error) {
  std::string reason = error == ENOENT   ? "the folder '" + folderOf(path) + "' does not exist"
                       : error == EISDIR ? "it is a folder"
                                         : systemReason(error);
  return {"E1027", path, "cannot write the file: " + reason, {}};
}

/// While a file is written, an interrupted program takes its unfinished copy along.
class RemovedBySignals {
public:
  /// `path` must stay where it is for as long as this lives.
  explicit RemovedBySignals(const char *path) {
    doomed = path;
    struct sigaction action{};
    action.sa_handler = [](int signal) {
      // Only what is safe in a handler; the signal then does what it would have done.
      unlink(doomed);
      ::signal(signal, SIG_DFL);
      raise(signal);
    };
    for (size_t i = 0; i < std::size(signals); ++i) {
      sigaction(signals[i], nullptr, &before[i]);
      // One that is ignored, as under nohup, stays so; one that somebody handles is theirs.
      if (before[i].sa_handler == SIG_DFL)
        sigaction(signals[i], &action, nullptr);
    }
  }
  ~RemovedBySignals() {
    for (size_t i = 0; i < std::size(signals); ++i)
      sigaction(signals[i], &before[i], nullptr);
  }

private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
  static inline const char *doomed = nullptr;
  struct sigaction before[std::size(signals)];
};

/// A file that appears under its name only when it is complete.
class Output {
public:
  explicit Output(const std::string &path) : path(path), target(path) {}
  ~Output() {
    if (file)
      fclose(file);
    if (!temporary.empty())
      unlink(temporary.c_str());
    guard.reset();
  }

  FILE *file = nullptr;

  Problem open(bool seeks) {
    // Through a symbolic link, the file it leads to is replaced, not the link.
    if (char *real = realpath(path.c_str(), nullptr)) {
      target = real;
      free(real);
    }
    struct stat status;
    bool replaces = !stat(target.c_str(), &status);
    if (replaces && !S_ISREG(status.st_mode)) {
      if (S_ISDIR(status.st_mode))
        return cannotWrite(path, EISDIR);
      if (seeks && !S_ISCHR(status.st_mode))
        return {"E1027", path, "cannot write an archive: not a regular file", {}};
      file = fopen(target.c_str(), "wb");
      return file ? Problem{} : cannotWrite(path, errno);
    }
    // A file that may not be written is not replaced either.
    if (replaces && access(target.c_str(), W_OK))
      return cannotWrite(path, errno);
    std::string pattern = target + ".XXXXXX";
    int fd = mkstemp(pattern.data());
    if (fd < 0)
      return cannotWrite(path, errno);
    temporary = pattern;
    guard.emplace(temporary.c_str());
    // A new file is for whom the umask allows; one that is replaced keeps its permissions.
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, replaces ? status.st_mode & 07777 : 0666 & ~mask);
    file = fdopen(fd, "wb+");
    return file ? Problem{} : cannotWrite(path, errno);
  }

  Problem commit(int error) {
    // Errors of the device may show up as late as the last flush.
    if (!error && fflush(file))
      error = errno;
    if (fclose(file) && !error)
      error = errno;
    file = nullptr;
    if (!error && !temporary.empty() && rename(temporary.c_str(), target.c_str()))
      error = errno;
    if (error)
      return cannotWrite(path, error);
    guard.reset();
    temporary.clear();
    return {};
  }

private:
  std::string path, target, temporary;
  std::optional<RemovedBySignals> guard;
};

int64_t bytesOf(const NamedArray &array) {
  int64_t bytes = pmap_dtype_bytes(array.dtype);
  for (int64_t size : array.sizes)
    bytes *= size;
  return bytes;
}

/// minizip writes through these, so that the first error is known with its reason.
struct ZipFile {
  FILE *file;
  int error;
};

zlib_filefunc64_def zipFunctions(ZipFile &zip) {
  zlib_filefunc64_def table{};
  table.opaque = &zip;
  table.zopen64_file = [](voidpf opaque, const void *, int) -> voidpf { return opaque; };
  table.zread_file = [](voidpf, voidpf stream, void *target, uLong bytes) -> uLong {
    return (uLong)fread(target, 1, bytes, ((ZipFile *)stream)->file);
  };
  table.zwrite_file = [](voidpf, voidpf stream, const void *source, uLong bytes) -> uLong {
    auto *zip = (ZipFile *)stream;
    size_t done = fwrite(source, 1, bytes, zip->file);
    if (done != bytes && !zip->error)
      zip->error = errno ? errno : EIO;
    return (uLong)done;
  };
  table.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T { return (ZPOS64_T)ftello(((ZipFile *)stream)->file); };
  table.zseek64_file = [](voidpf, voidpf stream, ZPOS64_T offset, int origin) -> long {
    auto *zip = (ZipFile *)stream;
    int whence = origin == ZLIB_FILEFUNC_SEEK_CUR ? SEEK_CUR : origin == ZLIB_FILEFUNC_SEEK_END ? SEEK_END : SEEK_SET;
    int failed = fseeko(zip->file, (off_t)offset, whence);
    if (failed && !zip->error)
      zip->error = errno;
    return failed;
  };
  table.zclose_file = [](voidpf, voidpf) { return 0; };
  table.zerror_file = [](voidpf, voidpf stream) { return ferror(((ZipFile *)stream)->file); };
  return table;
}

} // namespace

Problem pmap::rt::checkWritable(const std::string &path) {
  struct stat status;
  if (!stat(path.c_str(), &status)) {
    if (S_ISDIR(status.st_mode))
      return cannotWrite(path, EISDIR);
    return access(path.c_str(), W_OK) ? cannotWrite(path, errno) : Problem{};
  }
  std::string folder = folderOf(path);
  if (stat(folder.c_str(), &status))
    return cannotWrite(path, errno);
  if (!S_ISDIR(status.st_mode))
    return cannotWrite(path, ENOTDIR);
  return access(folder.c_str(), W_OK | X_OK) ? cannotWrite(path, errno) : Problem{};
}

Problem pmap::rt::writeText(const std::string &path, std::string_view text) {
  Output output(path);
  if (Problem problem = output.open(/*seeks=*/false))
    return problem;
  errno = 0;
  bool written = fwrite(text.data(), 1, text.size(), output.file) == text.size();
  return output.commit(written ? 0 : errno ? errno : EIO);
}

Problem pmap::rt::writeNpy(const std::string &path, const NamedArray &array) {
  Output output(path);
  if (Problem problem = output.open(/*seeks=*/false))
    return problem;
  std::string header = npyHeaderText(array.dtype, array.sizes);
  size_t bytes = (size_t)bytesOf(array);
  errno = 0;
  bool written = fwrite(header.data(), 1, header.size(), output.file) == header.size() &&
                 fwrite(array.data, 1, bytes, output.file) == bytes;
  return output.commit(written ? 0 : errno ? errno : EIO);
}

Problem pmap::rt::writeNpz(const std::string &path, const std::vector<NamedArray> &arrays) {
  Output output(path);
  if (Problem problem = output.open(/*seeks=*/true))
    return problem;
  ZipFile stream{output.file, 0};
  zlib_filefunc64_def functions = zipFunctions(stream);
  errno = 0;
  zipFile zip = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
  bool good = zip != nullptr;
  for (const NamedArray &array : arrays) {
    std::string header = npyHeaderText(array.dtype, array.sizes);
    int64_t bytes = bytesOf(array);
    // As np.savez does: stored, not deflated, and dated 1980, so that equal results are equal files.
    zip_fileinfo info{};
    info.tmz_date.tm_year = 1980;
    info.tmz_date.tm_mday = 1;
    int large = bytes + (int64_t)header.size() >= (int64_t)UINT32_MAX;
    good = good && zipOpenNewFileInZip64(zip, (array.name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0,
                                         0, large) == ZIP_OK;
    good = good && zipWriteInFileInZip(zip, header.data(), (unsigned)header.size()) == ZIP_OK;
    for (int64_t done = 0; good && done < bytes;) {
      unsigned piece = (unsigned)std::min<int64_t>(bytes - done, 1 << 30);
      good = zipWriteInFileInZip(zip, (const char *)array.data + done, piece) == ZIP_OK;
      done += piece;
    }
    good = good && zipCloseFileInZip(zip) == ZIP_OK;
  }
  if (zip && zipClose(zip, nullptr) != ZIP_OK)
    good = false;
  int error = stream.error;
  if (!good && !error)
    error = errno ? errno : EIO;
  return output.commit(error);
}
