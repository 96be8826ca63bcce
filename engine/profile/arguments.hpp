// How the rows of calls.hpp read a call's arguments, those of C and of Fortran alike.
//
// In C an argument is a value; in Fortran it is the address of an INTEGER, also of a handle, which
// in MPICH is the same number as in C.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "groups.hpp"
#include "recorder.hpp"
#include "weak.hpp"

namespace fabricgauge {

template <class T>
std::uint64_t number(T value) {
    if constexpr (std::is_pointer_v<T>) return static_cast<std::uint64_t>(*value);
    else return static_cast<std::uint64_t>(value);
}

template <class T>
std::int64_t rank_in(T value) {
    if constexpr (std::is_pointer_v<T>) return static_cast<std::int64_t>(*value);
    else return static_cast<std::int64_t>(value);
}

#ifdef OPEN_MPI
inline MPI_Datatype type(const MPI_Fint* handle) { return PMPI_Type_f2c(*handle); }
inline MPI_Comm communicator(const MPI_Fint* handle) { return PMPI_Comm_f2c(*handle); }
inline MPI_Win window(const MPI_Fint* handle) { return PMPI_Win_f2c(*handle); }
#elif defined(FABRICGAUGE_FORTRAN)
inline MPI_Datatype type(const MPI_Fint* handle) { return *handle; }
#endif
inline MPI_Datatype type(MPI_Datatype handle) { return handle; }
inline MPI_Comm communicator(MPI_Comm handle) { return handle; }
inline MPI_Comm communicator(const MPI_Comm* handle) { return *handle; }
inline MPI_Win window(MPI_Win handle) { return handle; }
inline MPI_Win window(const MPI_Win* handle) { return *handle; }

template <class T>
std::uint64_t bytes_of(T datatype) {
    MPI_Count size = 0;
    PMPI_Type_size_x(type(datatype), &size);
    return size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

// Where: the group that a call is within.
struct Nowhere {
    template <class Arguments>
    static const Group* of(const Arguments&) { return nullptr; }
};
template <int I>
struct Within {
    template <class Arguments>
    static const Group* of(const Arguments& all) {
        return group_of<Communicator>(communicator(std::get<I>(all)));
    }
};
template <int I>
struct Inside {
    template <class Arguments>
    static const Group* of(const Arguments& all) {
        return group_of<Window>(window(std::get<I>(all)));
    }
};

// Peer: whom the bytes go to. What is got comes from there, and is of no use in a matrix of sends.
struct Anybody {
    static constexpr bool one = false, sends = false;
};
template <int I>
struct To {
    static constexpr bool one = true, sends = true;
    template <class Arguments>
    static std::int64_t of(const Arguments& all) { return rank_in(std::get<I>(all)); }
};
template <int I>
struct From : To<I> {
    static constexpr bool sends = false;
};

// Size: `set` fills size and bytes of what was observed.
struct Unsized {
    template <class Arguments>
    static void set(Observed&, const Arguments&, const Group*) {}
};
template <int I, int T>
struct Counted {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group*) {
        seen.size = seen.bytes = number(std::get<I>(all)) * bytes_of(std::get<T>(all));
    }
};
template <int T>
struct One {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group*) {
        seen.size = seen.bytes = bytes_of(std::get<T>(all));
    }
};
template <int I, int T>
struct ToEach {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        Counted<I, T>::set(seen, all, group);
        if (group) seen.bytes *= static_cast<std::uint64_t>(group->size);
    }
};
template <int I, int T>
struct OfEach {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        ToEach<I, T>::set(seen, all, group);
        seen.size = seen.bytes;
    }
};
template <int I, int T>
struct Summed {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        if (group && group->is_inter) return;  // counts are of one side's ranks, which is not told
        std::uint64_t sum = 0;
        for (int rank = 0; group && rank < group->size; ++rank)
            sum += static_cast<std::uint64_t>(std::get<I>(all)[rank]);
        seen.size = seen.bytes = sum * bytes_of(std::get<T>(all));
    }
};
template <int I, int T>
struct MeanOf {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        Summed<I, T>::set(seen, all, group);
        if (group && seen.size != no_size) seen.size = seen.bytes / static_cast<std::uint64_t>(group->size);
    }
};
template <int I, int T>
struct MeanOfTypes {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        if (!group) return;
        for (int rank = 0; rank < group->size; ++rank) {
            const auto& datatype = std::get<T>(all)[rank];
            using Handle = std::remove_cv_t<std::remove_reference_t<decltype(datatype)>>;
            constexpr bool in_c = std::is_same_v<Handle, MPI_Datatype>;
            const auto count = static_cast<std::uint64_t>(std::get<I>(all)[rank]);
            if (count == 0) continue;  // the type need not be one
            if constexpr (in_c) seen.bytes += count * bytes_of(datatype);
            else seen.bytes += count * bytes_of(&datatype);
        }
        seen.size = seen.bytes / static_cast<std::uint64_t>(group->size);
    }
};
template <int I, int T>
struct OwnPart {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        if (!group || group->rank < 0 || group->is_inter) return;
        const auto count = static_cast<std::uint64_t>(std::get<I>(all)[group->rank]);
        seen.size = seen.bytes = count * bytes_of(std::get<T>(all));
    }
};
// At the root one side counts, elsewhere the other: each may be left out where it does not.
template <int R, class AtRoot, class Elsewhere>
struct ByRoot {
    template <class Arguments>
    static void set(Observed& seen, const Arguments& all, const Group* group) {
        // Of an intercommunicator the root is in the other group, and sends or receives there.
        if (group && group->is_inter) {
            if (rank_in(std::get<R>(all)) >= 0) Elsewhere::set(seen, all, group);
            return;
        }
        const bool is_root = group && rank_in(std::get<R>(all)) == group->rank;
        if (is_root) AtRoot::set(seen, all, group);
        else if (group && rank_in(std::get<R>(all)) >= 0) Elsewhere::set(seen, all, group);
    }
};
template <int R, int I, int T, int J, int U>
using Rooted = ByRoot<R, Counted<I, T>, Counted<J, U>>;
template <int R, int I, int T, int J, int U>
using RootedParts = ByRoot<R, OwnPart<I, T>, Counted<J, U>>;

template <class Row, class Arguments>
Observed observed(const Arguments& all) {
    Observed seen;
    seen.call = static_cast<std::uint8_t>(Row::call);
    const Group* group = Row::Where::of(all);
    if (group) {
        seen.ranks = static_cast<std::uint32_t>(group->size);
        seen.place = group->spans_nodes ? Place::other_node : Place::same_node;
    }
    if constexpr (Row::Peer::one) {
        const std::int64_t peer = Row::Peer::of(all);
        if (!group || peer < 0 || peer >= group->size) {
            seen.place = Place::unknown;  // MPI_PROC_NULL: nothing is sent
            return seen;
        }
        const std::int32_t world = group->world[static_cast<std::size_t>(peer)];
        seen.place = on_own_node(world) ? Place::same_node : Place::other_node;
        if (Row::Peer::sends) seen.peer = world;
    }
    Row::Size::set(seen, all, group);
    return seen;
}

}  // namespace fabricgauge
