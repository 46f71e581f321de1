// Source text, and ranges within it. Everything that points at source does so with a SourceRange, which carries its
// file, so that a message about one file can have notes in another.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pmap {

class SourceFile;

/// A half-open range of byte offsets in one file. A default-constructed range points nowhere (`isValid()` is false).
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  SourceRange() = default;
  SourceRange(const SourceFile *file, uint32_t begin, uint32_t end) : file(file), begin(begin), end(end) {}

  bool isValid() const { return file != nullptr; }
  uint32_t size() const { return end - begin; }
  /// The text the range covers.
  llvm::StringRef text() const;
  /// The smallest range that covers both; they must be in the same file (an invalid one is ignored).
  SourceRange merge(SourceRange other) const {
    if (!isValid())
      return other;
    if (!other.isValid() || other.file != file)
      return *this;
    return {file, begin < other.begin ? begin : other.begin, end > other.end ? end : other.end};
  }
  /// An empty range at the start of this one, and at its end: where a fix-it inserts.
  SourceRange startPoint() const { return {file, begin, begin}; }
  SourceRange endPoint() const { return {file, end, end}; }

  bool operator==(const SourceRange &) const = default;
};

/// A line and a column, both from 1. Columns count characters (code points), not bytes.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

/// One source file (or one line typed into the REPL), kept in memory for as long as anything points at it.
class SourceFile {
public:
  SourceFile(std::string path, std::string text);

  /// The name that messages show: the path as it was given, or `<repl:3>`.
  llvm::StringRef path() const { return path_; }
  llvm::StringRef text() const { return text_; }

  unsigned lineCount() const { return static_cast<unsigned>(lineStarts.size()); }
  /// The line and column of a byte offset; an offset past the end is the end.
  LineColumn lineColumn(uint32_t offset) const;
  /// The byte offset at which line `line` (from 1) starts.
  uint32_t lineStart(unsigned line) const { return lineStarts[line - 1]; }
  /// The text of line `line` (from 1) without its line ending.
  llvm::StringRef lineText(unsigned line) const;
  /// The empty range at the end of the file.
  SourceRange endOfFile() const;

private:
  std::string path_;
  std::string text_;
  std::vector<uint32_t> lineStarts;
};

/// Owns the files of one compilation or one REPL session; their addresses never change.
class SourceManager {
public:
  /// Adds text under a name.
  const SourceFile *addText(std::string path, std::string text);
  /// Reads a file. Null when it cannot be read, and then `error` says why in words ("no such file or directory").
  const SourceFile *addFile(llvm::StringRef path, std::string &error);
  /// Every file added so far, in order.
  const std::vector<std::unique_ptr<SourceFile>> &all() const { return files; }

private:
  std::vector<std::unique_ptr<SourceFile>> files;
};

} // namespace pmap
