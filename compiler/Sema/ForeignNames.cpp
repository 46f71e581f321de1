// Names of other languages, and of modules that were not imported.
#include "compiler/Sema/ForeignNames.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace pmap::sema {

StringRef foreignName(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"np", "jnp", "numpy", "jax", "torch", "lax"},
             "the functions of arrays are part of the language and need no module: 'sum(x)', 'exp(x)'")
      .Case("len", "the size of a dimension is a name in its type: with 'x: f32[n]' it is 'n'")
      .Case("shape", "the sizes of an array are names in its type: with 'x: f32[n, m]' they are 'n' and 'm'")
      .Case("range", "a range is written '0..n', as in 'for i in 0..n { }'")
      .Case("arange", "the integers from 0 to n - 1 are 'iota(n)'")
      .Case("enumerate", "rows and their numbers: 'for i in 0..n { let row = x[i] }'")
      .Case("zip", "elements of several arrays: '[for i: f(x[i], y[i])]'")
      .Cases({"map", "vectorize"}, "a function of every element: '[for i: f(x[i])]'")
      .Cases({"array", "asarray"}, "an array is written '[1.0, 2.0]'")
      .Cases({"tree_map", "tree_multimap"}, "a function of every leaf of records and tuples is 'map_leaves(f, x)'")
      .Cases({"diag", "diagonal"}, "the diagonal of a matrix is 'einsum(\"ii->i\", x)', a matrix of a diagonal "
                                   "'eye(n) * d'")

      .Case("det", "there is no determinant; of a symmetric positive definite matrix its logarithm is "
                   "'2 * sum(log(einsum(\"ii->i\", cholesky(x))))'")
      .Case("continue",
            "there is no 'continue': put the rest of the body in 'if c { ... }', with the opposite condition")
      .Cases({"astype", "float", "int"}, "a conversion is a call of the dtype: 'f32(x)', 'i32(x)'")
      .Cases({"concatenate", "hstack", "vstack"}, "arrays are joined by 'concat((a, b), axis: 0)'")
      .Case("power", "a power is written 'x ** y'")
      .Case("norm", "the length of a vector is 'sqrt(sum(x ** 2))'")
      .Case("inv", "the solution x of a @ x = b is 'solve(a, b)', an inverse 'solve(a, eye(n))'")
      .Cases({"scan", "fori_loop", "while_loop"}, "loops carry their variables: 'for x in xs { state = f(state, x) }'")
      .Case("cond", "a choice is written 'if c { a } else { b }'")
      .Case("jit", "every program is compiled; there is nothing to wrap")
      .Case("return", "there is no 'return': the last expression of a block is its value")
      .Case("pi", "a constant is written as a number: 'const pi = 3.141592653589793'")
      .Case("None", "there is no 'None'; an argument that is not given takes its default")
      .Default("");
}

StringRef foreignType(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"float", "double"}, "the types of floats are 'f32' and 'f64', and 'f16' and 'bf16'")
      .Cases({"int", "long", "uint"},
             "the types of integers are 'i32' and 'i64', and those of 8 and 16 bits; 'u32' has no sign")
      .Case("complex",
            "there are no complex numbers: keep the real and the imaginary parts apart, as in a record (re: x, im: y)")
      .Cases({"str", "string"}, "there are no strings as values")
      .Cases({"array", "ndarray", "Array", "tensor", "Tensor"},
             "the type of an array is its dtype and sizes, as in 'f32[n, m]'")
      .Default("");
}

StringRef foreignAttribute(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"shape", "size"}, "the sizes of an array are names in its type: with 'x: f32[n, m]' they are 'n' and 'm'")
      .Cases({"ndim", "dtype"}, "an array's rank and dtype stand in its type, as in 'x: f32[n, m]'")
      .Case("astype", "a conversion is a call of the dtype: 'f32(x)', 'i32(x)'")
      .Case("item", "an array of no dimensions is a number already")
      .Cases({"at", "set", "add"}, "elements are replaced in a variable: 'var y = x', then 'y[i] = v'")
      .Case("copy", "arrays are values: 'let y = x' is a copy")
      .Default("");
}

StringRef renamed(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("arange", "iota")
      .Case("float16", "f16")
      .Case("bfloat16", "bf16")
      .Case("float32", "f32")
      .Case("float64", "f64")
      .Case("int8", "i8")
      .Case("int16", "i16")
      .Case("int32", "i32")
      .Case("int64", "i64")
      .Case("uint8", "u8")
      .Case("uint16", "u16")
      .Case("uint32", "u32")
      .Case("uint64", "u64")
      .Case("True", "true")
      .Case("False", "false")
      .Default("");
}

StringRef renamedLabel(StringRef label) {
  return StringSwitch<StringRef>(label)
      .Cases({"in_axes", "in_dims", "in_specs"}, "in")
      .Cases({"out_axes", "out_dims", "out_specs"}, "out")
      .Case("axis_name", "axis")
      .Case("dim", "axis")
      .Cases({"keepdims", "keepdim"}, "keep")
      .Case("argnums", "wrt")
      .Case("batch_size", "chunk")
      .Default("");
}

std::string inLibrary(StringRef name, ArrayRef<std::string> folders) {
  // Only read once something is wrong, so the text of a module will do: an item begins its line.
  for (const std::string &folder : folders) {
    std::error_code failure;
    std::string home;
    for (sys::fs::directory_iterator file(folder, failure), end; !failure && file != end; file.increment(failure)) {
      StringRef module = sys::path::stem(file->path());
      if (sys::path::extension(file->path()) != ".pmap" || module == "prelude")
        continue;
      if (module == name)
        return ("'" + name + "' is a module of the library: write 'import " + name + "' above").str();
      auto text = MemoryBuffer::getFile(file->path());
      if (text && (*text)->getBuffer().contains(("\nfn " + name + "(").str()) && (home.empty() || module < home))
        home = module.str();
    }
    if (!home.empty())
      return "it is in module '" + home + "': 'import " + home + "', then '" + home + "." + name.str() + "'";
  }
  return "";
}

} // namespace pmap::sema
