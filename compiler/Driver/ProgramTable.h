// The static tables of an object file: one `pmap_program` (pmap/program.h) per entry point, and `main`.
#pragma once

#include "compiler/Sema/ProgramSignature.h"

namespace llvm {
class Module;
}

namespace pmap {

/// An entry point and the name of the function in the module that it came from; its packed form is `NAME.packed`.
struct ProgramEntry {
  std::string functionName;
  ProgramSignature signature;
};

/// The names of the globals that `addProgramTable` makes: an array of pmap_program and its length, an i32.
inline constexpr llvm::StringLiteral programsSymbol = "pmap_programs";
inline constexpr llvm::StringLiteral programCountSymbol = "pmap_program_count";

/// Adds the tables to an LLVM module that defines the packed functions; the entry `main`, if there is one, comes first
/// and gets a C `main` that calls pmap_program_main. Returns an error message, or "".
std::string addProgramTable(llvm::Module &module, llvm::ArrayRef<ProgramEntry> entries, llvm::StringRef programName);

} // namespace pmap
