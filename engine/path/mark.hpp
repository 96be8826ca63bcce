// How a traced program tells its tracer which calls are meant.
#pragma once

#include <cstdint>

namespace fabricgauge::path {

// Set by the tracer in the environment of the program that it traces; nobody else marks anything.
constexpr char traced_variable[] = "FABRICGAUGE_TRACED";

constexpr int most_functions = 2;

// What lies between a mark and a null one is stepped through, and what runs in one of the functions
// is told. The functions' addresses are those that the program itself calls. The last mark of all
// has the number `finished`.
constexpr std::int64_t finished = -1;

struct Mark {
    char operation[16];
    std::int64_t message_bytes;
    std::int64_t number;  // 0 is the first call of all, which is cold
    const void* functions[most_functions];
};

// A trap that the tracer takes; the address of the mark is in a register.
inline void mark(const Mark* what) {
#if defined(__x86_64__)
    asm volatile("int3" : : "D"(what) : "memory");
#else
    (void)what;
#endif
}

}  // namespace fabricgauge::path
