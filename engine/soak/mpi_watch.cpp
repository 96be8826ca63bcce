#include "mpi_watch.hpp"

#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "fabricgauge/clock.hpp"
#include "fabricgauge/json.hpp"
#include "soak.hpp"

namespace fabricgauge::soak {

namespace {

constexpr int data_tag = 1, ack_tag = 2, ping_tag = 3, pong_tag = 4;
// A rank sleeps between looks when nothing has arrived for a while: ranks of a small node share its
// processors with applications.
constexpr std::int64_t eager_ns = 300'000, sleep_ns = 50'000;
// Hosts delay a message by less than these without a fault of the network.
constexpr double stream_allowance_s = 0.5e-3, ping_allowance_s = 1e-3;

double utc_s() {
    timespec at{};
    clock_gettime(CLOCK_REALTIME, &at);
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

bool done(MPI_Request& request) {
    int flag = 1;
    if (request != MPI_REQUEST_NULL) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
}

// What a rank answers to a message: how long it did not run so far, and how long its own message
// has been under way, 0 for none.
struct Answer {
    std::int64_t stopped_ns = 0;
    std::int64_t waiting_ns = 0;
};
constexpr int answer_words = 2;

// One kind of message to the next rank, and its answer. A message does not count whose answer had
// to wait behind a message that the peer sends, and that is older: it is the other direction's.
class Sender {
public:
    Sender(int peer, int bytes, int tag, Times times)
        : peer_(peer), tag_(tag), content_(static_cast<std::size_t>(bytes), 'f'), times_(times) {}

    bool waits() const noexcept { return began_ns_ != 0; }
    std::int64_t waiting_ns(std::int64_t now_ns) const noexcept {
        return waits() ? now_ns - began_ns_ : 0;
    }

    void start(std::int64_t now_ns, std::int64_t stopped_ns) {
        began_ns_ = now_ns;
        began_s_ = utc_s();
        own_stopped_ns_ = stopped_ns;
        MPI_Irecv(&answer_, answer_words, MPI_INT64_T, peer_, tag_ + 1, MPI_COMM_WORLD, &answered_);
        MPI_Isend(content_.data(), static_cast<int>(content_.size()), MPI_BYTE, peer_, tag_,
                  MPI_COMM_WORLD, &sent_);
    }

    // Checks for the answer; true if it has just come.
    bool finish(const MonotonicClock& clock, std::int64_t stopped_ns) {
        if (!waits() || !done(sent_) || !done(answered_)) return false;
        const std::int64_t time_ns = clock.now_ns() - began_ns_;
        const std::int64_t peer_ns =
            peer_stopped_ns_ < 0 ? 0 : answer_.stopped_ns - peer_stopped_ns_;
        if (answer_.waiting_ns <= time_ns)
            times_.add({began_s_, 1e-9 * static_cast<double>(time_ns),
                        1e-9 * static_cast<double>(stopped_ns - own_stopped_ns_),
                        1e-9 * static_cast<double>(peer_ns)});
        peer_stopped_ns_ = answer_.stopped_ns;
        met_ns_ = answer_.waiting_ns > 0 ? time_ns : 0;
        began_ns_ = 0;
        return true;
    }

    // The time of the last message if the peer's own was under way when it answered, else 0.
    std::int64_t met_ns() const noexcept { return met_ns_; }
    Times& times() noexcept { return times_; }

private:
    int peer_;
    int tag_;
    std::vector<char> content_;
    Times times_;
    MPI_Request sent_ = MPI_REQUEST_NULL, answered_ = MPI_REQUEST_NULL;
    Answer answer_{};
    std::int64_t began_ns_ = 0, own_stopped_ns_ = 0, peer_stopped_ns_ = -1, met_ns_ = 0;
    double began_s_ = 0.0;
};

// Receives one kind of message from the previous rank and answers each.
class Receiver {
public:
    Receiver(int peer, int bytes, int tag)
        : peer_(peer), tag_(tag), content_(static_cast<std::size_t>(bytes)) {
        post();
    }

    // True if a message has just come.
    bool answer(const Answer& answer) {
        if (!done(answered_) || !done(received_)) return false;
        answer_ = answer;
        MPI_Isend(&answer_, answer_words, MPI_INT64_T, peer_, tag_ + 1, MPI_COMM_WORLD, &answered_);
        post();
        return true;
    }

    void close() {
        MPI_Wait(&answered_, MPI_STATUS_IGNORE);
        MPI_Cancel(&received_);
        MPI_Wait(&received_, MPI_STATUS_IGNORE);
    }

private:
    void post() {
        MPI_Irecv(content_.data(), static_cast<int>(content_.size()), MPI_BYTE, peer_, tag_,
                  MPI_COMM_WORLD, &received_);
    }

    int peer_;
    int tag_;
    std::vector<char> content_;
    MPI_Request received_ = MPI_REQUEST_NULL, answered_ = MPI_REQUEST_NULL;
    Answer answer_{};
};

// Neighbours begin at different times of a period, so that no answer waits behind a message: rank r
// at phase_of / ranks of it, the golden section apart.
std::int64_t phase_of(int rank, int ranks) {
    const std::int64_t step = std::max(1L, std::lround(0.382 * ranks));
    return rank * step % ranks;
}

class Watch {
public:
    Watch(const Pace& pace, int rank, int ranks)
        : pace_(pace), rank_(rank), ranks_(ranks), next_((rank + 1) % ranks),
          stream_(next_, pace.bytes, data_tag, Times(pace.threshold, stream_allowance_s)),
          ping_(next_, 8, ping_tag, Times(5.0, ping_allowance_s)),
          data_((rank + ranks - 1) % ranks, pace.bytes, data_tag),
          pings_((rank + ranks - 1) % ranks, 8, ping_tag), stopped_(pace.bytes) {}

    void run() {
        MPI_Barrier(MPI_COMM_WORLD);
        const std::int64_t start_ns = clock_.now_ns();
        const std::int64_t first_ns = start_ns + pace_.period_ns * phase_of(rank_, ranks_) / ranks_;
        const auto length_ns = static_cast<std::int64_t>(pace_.seconds * 1e9);
        stream_due_ns_ = first_ns;
        ping_due_ns_ = first_ns + pace_.period_ns / 4;
        std::int64_t report_due_ns = start_ns + pace_.interval_ns, busy_ns = start_ns;
        MPI_Request all_ended = MPI_REQUEST_NULL;
        bool ending = false;
        heard_ns_ = start_ns;
        while (true) {
            const std::int64_t now_ns = clock_.now_ns();
            stopped_.look(now_ns);
            if (!ending) {
                start_due(stream_, stream_due_ns_, now_ns);
                start_due(ping_, ping_due_ns_, now_ns);
            }
            if (look()) busy_ns = now_ns;
            if (now_ns >= report_due_ns) {
                report(now_ns);
                report_due_ns += pace_.interval_ns;
                if (report_due_ns < now_ns) report_due_ns = now_ns + pace_.interval_ns;
            }
            if (!ending && now_ns - start_ns >= length_ns && !stream_.waits() && !ping_.waits()) {
                ending = true;
                MPI_Ibarrier(MPI_COMM_WORLD, &all_ended);
            }
            if (ending && done(all_ended)) break;
            rest(now_ns - busy_ns);
        }
        report(clock_.now_ns());
        data_.close();
        pings_.close();
    }

private:
    void start_due(Sender& sender, std::int64_t& due_ns, std::int64_t now_ns) {
        if (sender.waits() || now_ns < due_ns) return;
        sender.start(now_ns, stopped_.total_ns());
        // What was missed is not made up for, and the phase stays.
        due_ns += pace_.period_ns * (1 + (now_ns - due_ns) / pace_.period_ns);
    }

    // True if anything has arrived.
    bool look() {
        const Answer answer{stopped_.total_ns(), stream_.waiting_ns(clock_.now_ns())};
        const bool heard = data_.answer(answer) | pings_.answer(answer);
        if (heard) heard_ns_ = clock_.now_ns();
        const bool sent = stream_.finish(clock_, stopped_.total_ns());
        if (sent) keep_apart();
        return heard | sent | ping_.finish(clock_, stopped_.total_ns());
    }

    // Clocks of nodes drift: where messages of neighbours meet, every second rank moves on.
    void keep_apart() {
        const std::int64_t met_ns = stream_.met_ns();
        if (met_ns == 0 || met_ns > pace_.period_ns / 4) return;
        if (rank_ % 2 == 0 && rank_ != ranks_ - 1) return;
        stream_due_ns_ += pace_.period_ns / 7;
        ping_due_ns_ += pace_.period_ns / 7;
    }

    void rest(std::int64_t quiet_ns) const {
        if (quiet_ns < eager_ns) {
            sched_yield();
        } else {
            const timespec length{0, sleep_ns};
            nanosleep(&length, nullptr);
        }
    }

    void report(std::int64_t now_ns) {
        JsonWriter json;
        json.begin_object().member("record", "soak").member("rank", rank_).member("to", next_);
        json.member("at_s", utc_s());
        stream_.times().write(json, "");
        ping_.times().write(json, "ping_");
        json.member("waiting_s", 1e-9 * static_cast<double>(stream_.waiting_ns(now_ns)));
        json.member("ping_waiting_s", 1e-9 * static_cast<double>(ping_.waiting_ns(now_ns)));
        json.member("unheard_s", 1e-9 * static_cast<double>(now_ns - heard_ns_));
        json.member("stopped_s", 1e-9 * static_cast<double>(stopped_.total_ns() - reported_ns_));
        reported_ns_ = stopped_.total_ns();
        rises_.write(json);
        const std::string line = json.end_object().text() + "\n";
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fflush(stdout);
    }

    Pace pace_;
    int rank_;
    int ranks_;
    int next_;
    MonotonicClock clock_;
    Sender stream_, ping_;
    Receiver data_, pings_;
    StoppedTime stopped_;
    Rises rises_;
    std::int64_t stream_due_ns_ = 0, ping_due_ns_ = 0;
    std::int64_t heard_ns_ = 0, reported_ns_ = 0;
};

}  // namespace

void watch(const Pace& pace) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    Watch(pace, rank, ranks).run();
}

}  // namespace fabricgauge::soak
