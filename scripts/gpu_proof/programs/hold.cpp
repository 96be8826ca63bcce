// Takes the GPU's memory until a few MiB are left, says so, and keeps it until its input ends.
#include <cstdio>

#include "cuda.hpp"

int main() {
    proof::Gpu gpu(0);
    std::size_t taken = 0;
    for (std::size_t piece = std::size_t{1} << 30; piece >= (std::size_t{8} << 20); piece /= 2)
        while (taken < (std::size_t{1} << 40) && gpu.try_to_allocate(piece)) taken += piece;
    std::printf("holding %zu bytes of %s\n", taken, gpu.name().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}
