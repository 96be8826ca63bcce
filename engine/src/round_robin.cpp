#include "fabricgauge/round_robin.hpp"

#include <cmath>
#include <numeric>
#include <sstream>

namespace fabricgauge {

namespace {

// With the imaginary rank that makes an odd number even.
int even(int ranks) noexcept { return ranks + ranks % 2; }

}  // namespace

int rounds_of_round_robin(int ranks) noexcept { return ranks < 2 ? 0 : even(ranks) - 1; }

int partner_in_round(int rank, int round, int ranks) noexcept {
    const int last = even(ranks) - 1;
    // The one whose partner in the circle would be itself; last is odd, so a half of it exists.
    const int alone = round % 2 == 0 ? round / 2 : (round + last) / 2;
    const int partner = rank == last    ? alone
                        : rank == alone ? last
                                        : ((round - rank) % last + last) % last;
    return partner < ranks ? partner : -1;
}

std::vector<std::pair<int, int>> pairs_in_round(int round, int ranks) {
    std::vector<std::pair<int, int>> pairs;
    for (int rank = 0; rank < ranks; ++rank)
        if (const int partner = partner_in_round(rank, round, ranks); partner > rank)
            pairs.emplace_back(rank, partner);
    return pairs;
}

std::vector<int> rounds_to_make(const Case& measured, int ranks) {
    if (!measured.rounds.empty()) return measured.rounds;
    std::vector<int> all(static_cast<std::size_t>(rounds_of_round_robin(ranks)));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

PairTime pair_time(int origin, int target, const Recorder& recorder) {
    const Histogram& samples = recorder.histogram();
    std::vector<double> medians = recorder.blocks().medians_ps();
    std::nth_element(medians.begin(), medians.begin() + medians.size() / 2, medians.end());
    const double median_ps = medians.empty() ? 0.0 : medians[medians.size() / 2];
    return {origin, target, samples.count(), samples.minimum_ps(), std::llround(median_ps),
            std::llround(samples.quantile_ps(0.75) - samples.quantile_ps(0.25))};
}

std::string pack(const std::vector<PairTime>& times) {
    std::ostringstream text;
    for (const PairTime& time : times)
        text << time.origin << ' ' << time.target << ' ' << time.samples << ' ' << time.minimum_ps
             << ' ' << time.median_ps << ' ' << time.quartile_ps << ' ' << time.one_way_ps << ' ';
    return text.str();
}

std::vector<PairTime> unpack_pair_times(const std::string& text) {
    std::vector<PairTime> times;
    std::istringstream numbers(text);
    for (PairTime time{}; numbers >> time.origin >> time.target >> time.samples >>
                          time.minimum_ps >> time.median_ps >> time.quartile_ps >> time.one_way_ps;)
        times.push_back(time);
    return times;
}

}  // namespace fabricgauge
