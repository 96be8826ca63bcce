#include "fabricgauge/together.hpp"

namespace fabricgauge {

const char* name_of(Timing timing) noexcept {
    switch (timing) {
        case Timing::synchronised: return "synchronised";
        case Timing::barrier: return "barrier";
        case Timing::origin: return "origin";
    }
    return "";
}

void write_together(JsonWriter& json, const Together& together) {
    json.begin_object().member("ranks", together.ranks).member("pairs", together.pairs);
    json.member("clock", name_of(together.timing));
    json.member("clock_error_s", together.clock_error_s);
    json.member("late_starts", together.late_starts).key("rank_medians_s").begin_array();
    for (const double median_s : together.rank_medians_s) json.value(median_s);
    json.end_array().key("overlap");
    if (together.overlap)
        json.value(*together.overlap);
    else
        json.null();
    json.member("compute_s", together.compute_s);
    json.member("messages_per_s", together.messages_per_s);
    json.member("load_bytes_per_s", together.load_bytes_per_s).end_object();
}

}  // namespace fabricgauge
