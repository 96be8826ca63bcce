#include "fabricgauge/version.hpp"

// The build passes its flags, since a program cannot ask for them.
#ifndef FABRICGAUGE_FLAGS
#define FABRICGAUGE_FLAGS ""
#endif

namespace fabricgauge {

std::string compiler_text() {
#if defined(__clang__) || defined(__INTEL_LLVM_COMPILER)
    std::string text = __VERSION__;
#else
    std::string text = std::string("GNU ") + __VERSION__;
#endif
    const std::string flags = FABRICGAUGE_FLAGS;
    return flags.empty() ? text : text + " " + flags;
}

}  // namespace fabricgauge
