// The little that these tests need: named tests, and expectations that say where they failed.
#pragma once

#include <exception>
#include <iostream>
#include <string>

namespace check {

inline int& failures() {
    static int count = 0;
    return count;
}

inline void expect(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (holds) return;
    ++failures();
    std::cerr << file << ":" << line << ": expectation does not hold\n";
}

template <typename Actual, typename Expected>
void expect_equal(const Actual& actual, const Expected& expected,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (actual == expected) return;
    ++failures();
    std::cerr << file << ":" << line << ": found " << actual << ", expected " << expected << "\n";
}

inline void expect_near(double actual, double expected, double tolerance,
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (actual >= expected - tolerance && actual <= expected + tolerance) return;
    ++failures();
    std::cerr << file << ":" << line << ": found " << actual << ", expected " << expected << " +- "
              << tolerance << "\n";
}

// The message of the error, which must contain `part`.
template <typename Error, typename Action>
void expect_error(Action&& action, const std::string& part, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    try {
        action();
    } catch (const Error& error) {
        if (std::string(error.what()).find(part) != std::string::npos) return;
        std::cerr << file << ":" << line << ": the message '" << error.what() << "' lacks '" << part
                  << "'\n";
        ++failures();
        return;
    }
    ++failures();
    std::cerr << file << ":" << line << ": no error\n";
}

template <typename Body>
void test(const char* name, Body&& body) {
    const int before = failures();
    try {
        body();
    } catch (const std::exception& error) {
        ++failures();
        std::cerr << "unexpected error: " << error.what() << "\n";
    }
    std::cout << (failures() == before ? "ok      " : "FAILED  ") << name << "\n";
}

inline int outcome() { return failures() == 0 ? 0 : 1; }

}  // namespace check
