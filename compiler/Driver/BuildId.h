// What identifies this compiler and the machine it compiles for, for cache keys.
#pragma once

#include <string>

namespace pmap {

/// The GNU build id of the running executable in hexadecimal: it changes whenever the compiler is linked from other
/// code.
std::string compilerBuildId();

/// The host's CPU name and feature string as LLVM spells them, e.g. "znver4" and "+avx512f,...".
std::string hostCpuName();
std::string hostCpuFeatures();

} // namespace pmap
