// fabricgauge-connect TOKEN NODE PORT BYTES EXPECTED
//     [held | listen ADDRESS | to NODE SOURCE TARGET]...
//
// One node's part of the connectivity round. It prints a line of JSON for each address that it
// listens on, and connects to its partners at the end of its standard input. With `held` that is
// not before all partners listen that ever will. It prints a line for each connection that has
// ended, and `{"end": true}` when the round is over. It needs no privilege and changes nothing.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fabricgauge/json.hpp"
#include "round.hpp"

namespace {

using namespace fabricgauge;
using namespace fabricgauge::connect;

constexpr int usage = 2;
constexpr char format_version[] = "1.0";

void print(const JsonWriter& json) {
    std::printf("%s\n", json.text().c_str());
    std::fflush(stdout);
}

const char* meaning(int error) { return error == 0 ? "" : strerror(error); }

void tell_listening(const std::string& address, int error) {
    JsonWriter json;
    json.begin_object().member("listening", address).member("error", meaning(error)).end_object();
    print(json);
}

// Another program that shares the input may have made it non-blocking.
void await_end_of_input() {
    char ignored[256];
    ssize_t count = 0;
    do {
        pollfd input{STDIN_FILENO, POLLIN, 0};
        poll(&input, 1, -1);
        count = read(STDIN_FILENO, ignored, sizeof ignored);
    } while (count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN)));
}

void tell_ended(const Ended& one) {
    JsonWriter json;
    json.begin_object().member(one.accepted ? "accepted_from" : "to", static_cast<int>(one.node));
    json.member("source", one.source).member("target", one.target).member("phase", one.phase);
    json.member("error", meaning(one.error)).member("stranger", one.stranger);
    json.member("answered_by", static_cast<int>(one.answered_by));
    json.member("connect_s", one.connect_s).member("whole_s", one.whole_s);
    json.member("segments", static_cast<int>(one.segments));
    json.member("resent", static_cast<int>(one.resent)).end_object();
    print(json);
}

// Throws std::exception where a word is missing or no number.
Plan parsed(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    std::size_t at = 0;
    const auto next = [&] { return words.at(at++); };
    const auto number = [&] { return std::stoul(next()); };
    Plan plan;
    plan.token = next();
    plan.token.resize(token_length, '.');
    plan.node = static_cast<std::uint32_t>(number());
    plan.port = static_cast<std::uint16_t>(number());
    plan.bytes = static_cast<std::uint32_t>(number());
    plan.expected = number();
    while (at < words.size()) {
        const std::string what = next();
        if (what == "listen") {
            plan.listen.push_back(next());
        } else if (what == "held") {
            plan.held = true;
        } else {
            Partner partner;
            partner.node = static_cast<std::uint32_t>(number());
            partner.source = next();
            partner.target = next();
            plan.partners.push_back(partner);
        }
    }
    return plan;
}

}  // namespace

int main(int argc, char** argv) {
    Plan plan;
    try {
        plan = parsed(argc, argv);
    } catch (const std::exception&) {
        std::fprintf(stderr,
                     "usage: fabricgauge-connect TOKEN NODE PORT BYTES EXPECTED"
                     " [held | listen ADDRESS | to NODE SOURCE TARGET]...\n");
        return usage;
    }
    JsonWriter begin;
    begin.begin_object().member("format", "fabricgauge-connect").member("version", format_version);
    print(begin.member("node", static_cast<int>(plan.node)).end_object());
    play(plan, Limits{}, tell_listening, await_end_of_input, tell_ended);
    print(JsonWriter().begin_object().member("end", true).end_object());
    return 0;
}
