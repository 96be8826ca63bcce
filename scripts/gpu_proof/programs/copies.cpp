// Copies between a GPU and page-locked host memory: copies SECONDS_PER_SIZE SIZE…
// One line a size: bytes, and the median us of a copy to the device and of a copy to the host, each
// with its synchronisation.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "cuda.hpp"

namespace {

constexpr int fewest = 5, most = 2000;

template <typename Copy>
double median_us(Copy copy, double seconds) {
    using Clock = std::chrono::steady_clock;
    copy();
    std::vector<double> times;
    const auto begin = Clock::now();
    while (times.size() < fewest ||
           (times.size() < most && std::chrono::duration<double>(Clock::now() - begin).count() < seconds)) {
        const auto start = Clock::now();
        copy();
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) proof::fail("copies SECONDS SIZE…");
    proof::Gpu gpu(0);
    std::printf("# %s\n# bytes to_device_us to_host_us\n", gpu.name().c_str());
    const double seconds = std::atof(words[1]);
    std::size_t largest = 1;
    for (int place = 2; place < count; ++place)
        largest = std::max(largest, static_cast<std::size_t>(std::atoll(words[place])));
    const proof::Pointer device = gpu.allocate(largest);
    void* const host = gpu.allocate_locked(largest);
    for (int place = 2; place < count; ++place) {
        const auto bytes = static_cast<std::size_t>(std::atoll(words[place]));
        const double there = median_us([&] { gpu.to_device(device, host, bytes); }, seconds);
        const double back = median_us([&] { gpu.to_host(host, device, bytes); }, seconds);
        std::printf("%zu %.3f %.3f\n", bytes, there, back);
        std::fflush(stdout);
    }
    return 0;
}
