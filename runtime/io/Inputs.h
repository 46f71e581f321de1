//===- Inputs.h - From name=value to the arguments of the entry --------------------------------------------------===//

#ifndef PMAP_IO_INPUTS_H
#define PMAP_IO_INPUTS_H

#include "pmap/program.h"
#include "runtime/io/Npy.h"
#include "runtime/io/SizeExpression.h"

namespace pmap::rt {

/// One parameter leaf's value and where it came from, for messages.
struct Input {
  HostArray array;
  std::string origin; ///< `x=data/x.npy`.
};

/// Finds, reads and checks a value for every parameter leaf: names, dtypes, ranks. Adds what is wrong to `problems`,
/// and what is only odd to `remarks`.
void readInputs(const pmap_signature &signature, const std::vector<std::pair<std::string, std::string>> &given,
                std::vector<Input> &inputs, std::vector<Problem> &problems, std::vector<std::string> &remarks);

/// Gives every size symbol its value from the inputs' shapes and checks all dimensions, across inputs too.
void bindSizes(const pmap_signature &signature, const std::vector<Input> &inputs, Symbols &symbols,
               std::vector<Problem> &problems);

/// Reads a literal, `[[1, 2], [3, 4]]` or `0.5`, as an array of a dtype and rank.
Problem parseLiteral(const std::string &text, int32_t dtype, int32_t rank, const std::string &subject,
                     HostArray &array);

} // namespace pmap::rt

#endif // PMAP_IO_INPUTS_H
