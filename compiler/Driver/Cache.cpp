#include "compiler/Driver/Cache.h"
#include "compiler/Driver/BuildId.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>
#include <utime.h>

namespace pmap {
namespace {

constexpr uint64_t maximumBytes = uint64_t(1) << 30;

std::string defaultFolder() {
  llvm::SmallString<128> path;
  if (const char *given = std::getenv("PMAPC_CACHE"))
    return given;
  if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base) {
    path = base;
  } else if (const char *home = std::getenv("HOME"); home && *home) {
    path = home;
    llvm::sys::path::append(path, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(path, "pmapc");
  return std::string(path);
}

std::string joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

/// Writes through a temporary file in the same folder, so that no reader ever sees half a file.
bool writeWhole(llvm::StringRef path, llvm::StringRef content) {
  int descriptor;
  llvm::SmallString<128> temporary;
  if (llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%", descriptor, temporary))
    return false;
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << content;
  out.close();
  if (out.has_error() || llvm::sys::fs::rename(temporary, path)) {
    out.clear_error();
    llvm::sys::fs::remove(temporary);
    return false;
  }
  return true;
}

std::string manifestName(const CompileKey &key) {
  llvm::SmallString<128> path(key.mainPath);
  llvm::sys::fs::make_absolute(path);
  std::string text = (llvm::Twine(compilerBuildId()) + "\n" + hostCpuName() + "\n" + hostCpuFeatures() + "\n" + path +
                      "\n" + key.flags)
                         .str();
  return hashOfText(text) + ".json";
}

/// Marks a file as used now; trim() removes the ones used longest ago.
void touch(const std::string &path) { utime(path.c_str(), nullptr); }

} // namespace

std::string hashOfText(llvm::StringRef text) {
  auto hash =
      llvm::BLAKE3::hash<16>(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return llvm::toHex(llvm::ArrayRef<uint8_t>(hash), /*LowerCase=*/true);
}

std::string hashOfFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? hashOfText((*buffer)->getBuffer()) : std::string();
}

ObjectCache::ObjectCache() : folder(defaultFolder()) {}

std::unique_ptr<llvm::MemoryBuffer> ObjectCache::lookup(const CompileKey &key, std::string &messages) const {
  if (folder.empty())
    return nullptr;
  std::string manifestPath = joinPath(folder, manifestName(key));
  auto text = llvm::MemoryBuffer::getFile(manifestPath);
  if (!text)
    return nullptr;
  auto parsed = llvm::json::parse((*text)->getBuffer());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return nullptr;
  }
  const auto *manifest = parsed->getAsObject();
  const auto *read = manifest ? manifest->getObject("read") : nullptr;
  const auto *absent = manifest ? manifest->getArray("absent") : nullptr;
  auto object = manifest ? manifest->getString("object") : std::nullopt;
  if (!read || !absent || !object)
    return nullptr;
  for (const auto &entry : *read) {
    auto expected = entry.second.getAsString();
    if (!expected || hashOfFile(entry.first) != *expected)
      return nullptr;
  }
  for (const auto &path : *absent)
    if (auto name = path.getAsString(); !name || llvm::sys::fs::exists(*name))
      return nullptr;
  std::string objectPath = joinPath(folder, *object);
  auto buffer = llvm::MemoryBuffer::getFile(objectPath, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  // The name is the content's hash: a damaged file is a miss.
  if (!buffer || hashOfText((*buffer)->getBuffer()) + ".o" != *object)
    return nullptr;
  messages = manifest->getString("messages").value_or("").str();
  touch(manifestPath);
  touch(objectPath);
  return std::move(*buffer);
}

void ObjectCache::store(const CompileKey &key, const Dependencies &dependencies, llvm::StringRef object,
                        llvm::StringRef messages) const {
  if (folder.empty() || llvm::sys::fs::create_directories(folder))
    return;
  llvm::json::Object read;
  for (const std::string &path : dependencies.read) {
    std::string hash = hashOfFile(path);
    if (hash.empty())
      return; // The file is gone already, so nothing can be promised about it.
    read[path] = hash;
  }
  llvm::json::Array absent;
  for (const std::string &path : dependencies.absent)
    absent.push_back(path);
  std::string objectName = hashOfText(object) + ".o";
  if (!writeWhole(joinPath(folder, objectName), object))
    return;
  std::string manifest;
  llvm::raw_string_ostream(manifest) << llvm::json::Value(llvm::json::Object{
      {"read", std::move(read)}, {"absent", std::move(absent)}, {"object", objectName}, {"messages", messages}});
  writeWhole(joinPath(folder, manifestName(key)), manifest);
  trim();
}

void ObjectCache::trim() const {
  struct Entry {
    std::string path;
    llvm::sys::TimePoint<> used;
    uint64_t size;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(folder, error), end; at != end && !error; at.increment(error)) {
    auto status = at->status();
    if (!status)
      continue;
    total += status->getSize();
    entries.push_back({at->path(), status->getLastModificationTime(), status->getSize()});
  }
  if (total <= maximumBytes)
    return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= maximumBytes / 2)
      break;
    llvm::sys::fs::remove(entry.path);
    total -= entry.size;
  }
}

} // namespace pmap
