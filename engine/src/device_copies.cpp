#include "fabricgauge/device_copies.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "fabricgauge/json.hpp"
#include "fabricgauge/messages.hpp"

namespace fabricgauge {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The sizes of a usual check take a fifth of a second with these: eight ranks of a node take turns.
constexpr std::size_t least_copies = 5;
constexpr std::size_t most_copies = 101;
constexpr Seconds enough(0.004);

struct FreeLocked {
    DeviceMemory* device;
    void operator()(std::byte* memory) const noexcept { device->release_locked(memory); }
};
using Locked = std::unique_ptr<std::byte, FreeLocked>;

template <typename Copy>
double median_s(const Copy& copy) {
    copy();  // the first one may set things up
    std::vector<double> times;
    const Clock::time_point began = Clock::now();
    while (times.size() < least_copies || (times.size() < most_copies && Clock::now() - began < enough)) {
        const Clock::time_point start = Clock::now();
        copy();
        times.push_back(Seconds(Clock::now() - start).count());
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

}  // namespace

std::vector<CopyTimes> copy_times(DeviceMemory& device, std::vector<std::int64_t> sizes) {
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::vector<CopyTimes> found;
    for (const std::int64_t bytes : sizes) {
        if (bytes <= 0) continue;
        std::unique_ptr<Buffer> there;
        Locked here(nullptr, FreeLocked{&device});
        try {
            there = std::make_unique<Buffer>(bytes, &device);
            here.reset(device.allocate_locked(bytes));
        } catch (const DeviceError&) {
            break;  // no larger one has room; the case itself says so
        }
        found.push_back({bytes, median_s([&] { device.to_device(there->data(), here.get(), bytes); }),
                         median_s([&] { device.to_host(here.get(), there->data(), bytes); })});
    }
    return found;
}

std::string copies_text(const std::vector<CopyTimes>& copies) {
    JsonWriter json;
    json.begin_array();
    for (const CopyTimes& one : copies) {
        json.begin_object().member("bytes", one.bytes).member("to_device_s", one.to_device_s);
        json.member("to_host_s", one.to_host_s).end_object();
    }
    json.end_array();
    return json.text();
}

}  // namespace fabricgauge
