#include "compiler/Support/SourceFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>

namespace pmap {

llvm::StringRef SourceRange::text() const { return file ? file->text().slice(begin, end) : llvm::StringRef(); }

SourceFile::SourceFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
  lineStarts.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

LineColumn SourceFile::lineColumn(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  unsigned line = static_cast<unsigned>(next - lineStarts.begin());
  unsigned column = 1;
  // A byte 10xxxxxx continues a character of UTF-8 and is not counted.
  for (uint32_t i = lineStarts[line - 1]; i < offset; ++i)
    column += (static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80;
  return {line, column};
}

llvm::StringRef SourceFile::lineText(unsigned line) const {
  if (line == 0 || line > lineStarts.size())
    return {};
  uint32_t start = lineStarts[line - 1];
  size_t end = line < lineStarts.size() ? lineStarts[line] - 1 : text_.size();
  llvm::StringRef result = llvm::StringRef(text_).slice(start, end);
  result.consume_back("\r");
  return result;
}

SourceRange SourceFile::endOfFile() const {
  auto end = static_cast<uint32_t>(text_.size());
  return {this, end, end};
}

const SourceFile *SourceManager::addText(std::string path, std::string text) {
  files.push_back(std::make_unique<SourceFile>(std::move(path), std::move(text)));
  return files.back().get();
}

const SourceFile *SourceManager::addFile(llvm::StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    error = llvm::StringRef(buffer.getError().message()).lower();
    return nullptr;
  }
  // Some editors put a mark at the start of a file; it is no character of the program and would shift the first line.
  llvm::StringRef text = (*buffer)->getBuffer();
  text.consume_front("\xEF\xBB\xBF");
  return addText(path.str(), text.str());
}

} // namespace pmap
