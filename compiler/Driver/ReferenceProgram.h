// The reference evaluator behind the same door as compiled programs: a pmap_program whose entry evaluates the module.
#pragma once

#include "compiler/Driver/ProgramTable.h"

#include "pmap/program.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>
#include <vector>

namespace pmap {

/// The entry points of an elaborated and transformed module as programs that evaluate it. The module must outlive this.
class ReferenceProgram {
public:
  /// Null when the module has no entry point. `devices` 0: as many as the command line says, through the runtime.
  static std::unique_ptr<ReferenceProgram> create(mlir::ModuleOp module, const std::string &name, int devices = 0);
  ~ReferenceProgram();

  /// Runs `main` with command-line arguments; the exit status.
  int main(int argc, char **argv);

  /// One program per entry point, `main` first.
  std::vector<const pmap_program *> programs() const;

private:
  ReferenceProgram();
  struct Entry;
  std::vector<std::unique_ptr<Entry>> entries;
};

} // namespace pmap
