// The cases of a launch, one per line: CASE pattern=latency bytes=8 window=1 origin=0 target=1
// budget_s=0.5
#pragma once

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricgauge {

enum class Pattern { latency, bandwidth, bidirectional_bandwidth, put_latency, put_bandwidth };

const char* name_of(Pattern pattern) noexcept;
bool is_one_sided(Pattern pattern) noexcept;
// Whether a sample is a whole window of messages.
bool has_window(Pattern pattern) noexcept;

struct Case {
    std::string name;
    Pattern pattern;
    std::int64_t message_bytes;
    std::int64_t window;
    int origin;
    int target;
    double budget_s;

    // Per sample and direction.
    std::int64_t sample_payload_bytes() const noexcept {
        return message_bytes * (has_window(pattern) ? window : 1);
    }
};

// Says line number and what was expected.
class CaseListError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::vector<Case> parse_case_list(const std::string& text);

// The text up to the end of the stream or to a line `end`: some launchers pass lines on, but not
// the end of the input (Open MPI 5.0.11's prterun).
std::string read_case_list(std::istream& input);

}  // namespace fabricgauge
