// MPI's functions. Each records a call and hands it on to the function of the same name in PMPI.
//
// Fortran that calls PMPI itself is wrapped as well. In Open MPI 4 and 5 that is all of it:
// `mpi_send_` for mpif.h and the module mpi, `ompi_send_f`, which the module mpi_f08 calls. MPICH 4
// calls MPI_Send, but for those procedures of mpi_f08 that have no buffer (seen with nm of 4.0.2).
#include <mpi.h>

#include <map>
#include <mutex>
#include <tuple>

#include "arguments.hpp"
#include "calls.hpp"
#include "groups.hpp"
#include "recorder.hpp"

namespace fabricgauge {

enum class Kind {
    PointToPoint, Persistent, Starting, Waiting, Collective, OneSided, Making, FreeingCommunicator,
    FreeingWindow
};

enum class Call : std::uint8_t {
#define ROW(name, ...) name,
    FABRICGAUGE_COUNTED_CALLS(ROW) FABRICGAUGE_OTHER_CALLS(ROW)
#undef ROW
};

// A size has commas, so that it stands in brackets: the type is that of a function's parameter.
template <class Function>
struct Bracketed;
template <class Type>
struct Bracketed<void(Type)> {
    using type = Type;
};

#define ROW(name, fortran, count, kind_, size, peer, where)  \
    struct name##Row {                                       \
        static constexpr Call call = Call::name;             \
        static constexpr Kind kind = Kind::kind_;            \
        static constexpr std::size_t parameters = count;     \
        using Size = typename Bracketed<void(size)>::type;   \
        using Peer = peer;                                   \
        using Where = where;                                 \
    };
FABRICGAUGE_COUNTED_CALLS(ROW)
FABRICGAUGE_OTHER_CALLS(ROW)
#undef ROW

std::string call_names() {
    std::string names;
#define ROW(name, fortran, count, kind, ...) names += #name " " #kind "\n";
    FABRICGAUGE_COUNTED_CALLS(ROW) FABRICGAUGE_OTHER_CALLS(ROW)
#undef ROW
    return names;
}

namespace {

// What each persistent request sends whenever it is started, by its value in memory.
std::mutex guard;
std::map<std::uint64_t, Observed> persistent;

template <class Request>
std::uint64_t value_of(const Request* request) {
    return (std::uint64_t)(*request);  // NOLINT: a number in some MPIs, an address in others
}

Observed started(std::uint64_t request) {
    const std::lock_guard lock(guard);
    const auto found = persistent.find(request);
    return found == persistent.end() ? Observed{} : found->second;  // nothing: a receive
}

// Each message of a Startall; the call itself has the time.
template <class Arguments>
void add_started(const Arguments& all, Call call, const void* caller) {
    const auto* requests = std::get<1>(all);
    for (std::uint64_t which = 0; which < number(std::get<0>(all)); ++which) {
        Observed seen = started(value_of(requests + which));
        if (seen.size == no_size) continue;
        seen.call = static_cast<std::uint8_t>(call);
        recorder.add(seen, 0, 0, caller);
    }
}

// One call from its beginning to its end.
template <class Row, class Arguments>
class Recording {
public:
    Recording(const Arguments& all, const void* caller) : all_(all), caller_(caller) {
        if constexpr (Row::kind == Kind::FreeingCommunicator)
            forget<Communicator>(communicator(std::get<0>(all)));
        if constexpr (Row::kind == Kind::FreeingWindow) forget<Window>(window(std::get<0>(all)));
        seen_ = observed<Row>(all);
        if constexpr (Row::call == Call::Start) {
            seen_ = started(value_of(std::get<0>(all)));
            seen_.call = static_cast<std::uint8_t>(Row::call);
        }
        if constexpr (Row::call == Call::Startall)
            if (recorder.is_on()) add_started(all, Row::call, caller);
        began_ns_ = now_ns();
    }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() {
        const std::int64_t ended_ns = now_ns();
        if constexpr (Row::kind == Kind::Persistent) {
            const std::lock_guard lock(guard);
            persistent[value_of(std::get<Row::parameters - 1>(all_))] = seen_;
            seen_.size = no_size;
            seen_.bytes = 0;
            seen_.peer = no_peer;
        }
        // The messages of a Startall are the calls of its place.
        const void* caller = Row::call == Call::Startall ? nullptr : caller_;
        if (recorder.is_on()) recorder.add(seen_, began_ns_, ended_ns, caller);
    }

private:
    const Arguments& all_;
    const void* caller_;
    Observed seen_;
    std::int64_t began_ns_ = 0;
};

template <class Row, class Real, class... Arguments>
auto recorded(const void* caller, Real real, Arguments... arguments) {
    if (!recorder.is_open()) return real(arguments...);
    const std::tuple<Arguments...> all(arguments...);
    const Recording<Row, std::tuple<Arguments...>> recording(all, caller);
    return real(arguments...);
}

template <class Function, std::size_t I>
struct ParameterOf;
template <class... Parameters, std::size_t I>
struct ParameterOf<int(Parameters...), I> {
    using type = std::tuple_element_t<I, std::tuple<Parameters...>>;
};

}  // namespace
}  // namespace fabricgauge

#define LIST_1(item, name) item(name, 0)
#define LIST_2(item, name) LIST_1(item, name), item(name, 1)
#define LIST_3(item, name) LIST_2(item, name), item(name, 2)
#define LIST_4(item, name) LIST_3(item, name), item(name, 3)
#define LIST_5(item, name) LIST_4(item, name), item(name, 4)
#define LIST_6(item, name) LIST_5(item, name), item(name, 5)
#define LIST_7(item, name) LIST_6(item, name), item(name, 6)
#define LIST_8(item, name) LIST_7(item, name), item(name, 7)
#define LIST_9(item, name) LIST_8(item, name), item(name, 8)
#define LIST_10(item, name) LIST_9(item, name), item(name, 9)
#define LIST_11(item, name) LIST_10(item, name), item(name, 10)
#define LIST_12(item, name) LIST_11(item, name), item(name, 11)
#define LIST_13(item, name) LIST_12(item, name), item(name, 12)

#define ARGUMENT(name, place) a##place
#define PARAMETER(name, place) \
    fabricgauge::ParameterOf<decltype(PMPI_##name), place>::type a##place
#define IN_FORTRAN(name, place) MPI_Fint* a##place

#define WRAPPED(name, row, count)                                           \
    FABRICGAUGE_WEAK(PMPI_##name)                                           \
    extern "C" int MPI_##name(LIST_##count(PARAMETER, name)) {              \
        return fabricgauge::recorded<fabricgauge::row##Row>(                \
            __builtin_return_address(0), PMPI_##name,                       \
            LIST_##count(ARGUMENT, name));                                  \
    }

#define IN_C(name, fortran, count, ...) WRAPPED(name, name, count)
FABRICGAUGE_COUNTED_CALLS(IN_C)
FABRICGAUGE_OTHER_CALLS(IN_C)

#if MPI_VERSION >= 4
#define LARGE(name, fortran, count, ...) WRAPPED(name##_c, name, count)
FABRICGAUGE_COUNTED_CALLS(LARGE)
#endif

#define FORTRAN(name, count, own, real)                                                    \
    extern "C" void real(LIST_##count(IN_FORTRAN, name), MPI_Fint* error) __attribute__((weak)); \
    extern "C" void own(LIST_##count(IN_FORTRAN, name), MPI_Fint* error) {                 \
        fabricgauge::recorded<fabricgauge::name##Row>(                                     \
            __builtin_return_address(0), real, LIST_##count(ARGUMENT, name), error);       \
    }

#ifdef OPEN_MPI
#define OF_OPEN_MPI(name, fortran, count, ...)                                             \
    FORTRAN(name, count, mpi_##fortran##_, pmpi_##fortran##_)                              \
    extern "C" void ompi_##fortran##_f(LIST_##count(IN_FORTRAN, name), MPI_Fint* error)    \
        __attribute__((alias("mpi_" #fortran "_")));
FABRICGAUGE_COUNTED_CALLS(OF_OPEN_MPI)
FABRICGAUGE_OTHER_CALLS(OF_OPEN_MPI)
#elif defined(FABRICGAUGE_FORTRAN)
#define OF_MPICH(name, fortran, count, ...) \
    FORTRAN(name, count, mpi_##fortran##_f08_, pmpir_##fortran##_f08_)
FABRICGAUGE_OTHER_CALLS(OF_MPICH)
#endif
