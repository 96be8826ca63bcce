// Places in the program that call MPI: which object and function an address belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout.hpp"

namespace fabricgauge {

// Finds MPI's Fortran libraries: they stand between a program and the functions that are wrapped.
void know_fortran_libraries();

// The address after the program's own call: `caller`, or its caller outside of MPI's Fortran.
const void* call_in_program(const void* caller) noexcept;

// Writes the object, the address in it, and the function that the object exports, if any.
void describe_site(Site& site, std::uint64_t address) noexcept;

// Adds names that only an object's own table of symbols has; `sites` are those of any rank.
void name_functions(Site* sites, std::size_t count);

}  // namespace fabricgauge
