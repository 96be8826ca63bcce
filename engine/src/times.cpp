#include "fabricgauge/times.hpp"

#include "fabricgauge/interval.hpp"

namespace fabricgauge {

Times times_of(const Recorder& recorder, double confidence) {
    constexpr double s = 1e-12;
    const Histogram& samples = recorder.histogram();
    std::vector<double> medians = recorder.blocks().medians_ps();
    const MedianInterval interval = interval_of_median(medians, confidence);
    // Percentiles of all samples, to the histogram's resolution; the median is that of the blocks'
    // medians.
    const auto percentile = [&](double share) { return samples.quantile_ps(share) * s; };
    return {static_cast<double>(samples.minimum_ps()) * s, interval.median * s, interval.low * s,
            interval.high * s, interval.coverage, samples.mean_ps() * s, percentile(0.9),
            percentile(0.99), percentile(0.999), static_cast<double>(samples.maximum_ps()) * s};
}

}  // namespace fabricgauge
