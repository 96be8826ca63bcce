// The statistics of a case, in seconds.
#pragma once

#include "fabricgauge/recorder.hpp"

namespace fabricgauge {

// median, low and high come from the block medians; minimum, maximum and mean are exact;
// the percentiles come from the histogram.
struct Times {
    double minimum_s;
    double median_s;
    double low_s;
    double high_s;
    double confidence;
    double mean_s;
    double p90_s;
    double p99_s;
    double p999_s;
    double maximum_s;
};

// The recorder must hold at least one sample.
Times times_of(const Recorder& recorder, double confidence);

}  // namespace fabricgauge
