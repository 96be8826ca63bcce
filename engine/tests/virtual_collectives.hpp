// The operations of virtual ranks: see virtual_ranks.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "fabricgauge/collective_memory.hpp"
#include "virtual_ranks.hpp"

namespace virtual_ranks {

// Every operation is an exchange of all with all. Each rank then takes what is its own.
class Collectives {
public:
    Collectives(Rank& rank, fabricgauge::CollectiveMemory memory)
        : rank_(rank), memory_(std::move(memory)) {}

    void barrier();
    void bcast() { start_bcast(), complete(); }
    void reduce() { start_reduce(), complete(); }
    void allreduce() { start_allreduce(), complete(); }
    void reduce_scatter() { start_reduce_scatter(), complete(); }
    void allgather() { start_allgather(), complete(); }
    void allgatherv() { start_allgatherv(), complete(); }
    void gather() { start_gather(), complete(); }
    void gatherv() { start_gatherv(), complete(); }
    void scatter() { start_scatter(), complete(); }
    void scatterv() { start_scatterv(), complete(); }
    void alltoall() { start_alltoall(), complete(); }
    void alltoallv() { start_alltoallv(), complete(); }

    void start_barrier() { begin(nullptr, 0, [](const auto&) {}); }
    void start_bcast() { begin(memory_.in, memory_.bytes, [this](const auto& all) { keep(0, all[0]); }); }
    void start_reduce() {
        begin(memory_.out, memory_.bytes, [this](const auto& all) {
            if (root()) add(all, 0, memory_.bytes);
        });
    }
    void start_allreduce() {
        begin(memory_.out, memory_.bytes,
              [this](const auto& all) { add(all, 0, memory_.bytes); });
    }
    void start_reduce_scatter() { begin(memory_.out, memory_.bytes, shares()); }
    void start_allgather() { begin(memory_.out, memory_.bytes, blocks(true, 0)); }
    void start_allgatherv() { start_allgather(); }
    void start_gather() { begin(memory_.out, memory_.bytes, blocks(root(), 0)); }
    void start_gatherv() { start_gather(); }
    void start_scatter();
    void start_scatterv() { start_scatter(); }
    void start_alltoall();
    void start_alltoallv() { start_alltoall(); }
    void complete();

private:
    using Taking = std::function<void(const std::vector<Bytes>&)>;

    void begin(const std::byte* data, std::int64_t bytes, Taking taking);
    void send_all();
    bool root() const;
    int number() const;
    void keep(std::int64_t block, const Bytes& data) {
        if (!data.empty())
            std::memcpy(memory_.in + block * memory_.bytes, data.data(), data.size());
    }
    // Of every rank the block at that place.
    Taking blocks(bool takes, std::int64_t place) {
        return [this, takes, place](const std::vector<Bytes>& all) {
            if (!takes) return;
            for (std::size_t from = 0; from < all.size(); ++from) {
                const auto first = all[from].begin() + place * memory_.bytes;
                keep(static_cast<std::int64_t>(from), Bytes(first, first + memory_.bytes));
            }
        };
    }
    Taking shares() {
        return [this](const auto& all) {
            std::int64_t first = 0;
            for (int rank = 0; rank < number(); ++rank) first += memory_.counts[rank];
            add(all, 4 * first, 4 * memory_.counts[number()]);
        };
    }
    void add(const std::vector<Bytes>& all, std::int64_t from, std::int64_t bytes) {
        for (std::int64_t at = 0; at < bytes; at += 4) {
            float sum = 0.0F;
            for (const Bytes& data : all) {
                float value = 0.0F;
                std::memcpy(&value, data.data() + from + at, sizeof value);
                sum += value;
            }
            std::memcpy(memory_.in + at, &sum, sizeof sum);
        }
    }

    Rank& rank_;
    fabricgauge::CollectiveMemory memory_;
    Bytes sending_;
    bool sent_ = false;
    Taking taking_;
};

inline bool Collectives::root() const { return rank_.rank() == fabricgauge::collective_root; }
inline int Collectives::number() const { return rank_.rank(); }

inline void Collectives::barrier() {
    start_barrier();
    complete();
    rank_.pass_ns(rank_.cluster().let_out_ns(number()));
}

inline void Collectives::start_scatter() {
    begin(memory_.out, root() ? memory_.bytes * rank_.ranks() : 0, [this](const auto& all) {
        const auto first = all[0].begin() + number() * memory_.bytes;
        keep(0, Bytes(first, first + memory_.bytes));
    });
}

inline void Collectives::start_alltoall() {
    begin(memory_.out, memory_.bytes * rank_.ranks(), blocks(true, number()));
}

inline void Collectives::begin(const std::byte* data, std::int64_t bytes, Taking taking) {
    sending_.assign(data, data + bytes);
    taking_ = std::move(taking);
    sent_ = rank_.cluster().progresses;
    if (sent_) rank_.push_to_all(sending_);
}

inline void Collectives::complete() {
    if (!sent_) rank_.push_to_all(sending_);
    taking_(rank_.pop_from_all(sending_));
}

inline Collectives Rank::collectives(const fabricgauge::CollectiveMemory& memory) {
    return {*this, memory};
}

}  // namespace virtual_ranks
