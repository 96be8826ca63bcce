// What the library itself uses of MPI. All of it is weak: the library is loaded into
// every program that a launcher starts, also into those that have no MPI.
#pragma once

#include <mpi.h>

// The standard's ABI is one of C alone (MPI 5.0, chapter 20): programs in Fortran are not recorded.
#ifndef MPI_ABI_VERSION
#define FABRICGAUGE_FORTRAN
#endif

#define FABRICGAUGE_WEAK(name) \
    extern "C" __attribute__((weak)) decltype(name) name;  // NOLINT

FABRICGAUGE_WEAK(PMPI_Abort)
FABRICGAUGE_WEAK(PMPI_Allgather)
FABRICGAUGE_WEAK(PMPI_Allreduce)
FABRICGAUGE_WEAK(PMPI_Bcast)
FABRICGAUGE_WEAK(PMPI_Comm_free)
FABRICGAUGE_WEAK(PMPI_Comm_group)
FABRICGAUGE_WEAK(PMPI_Comm_rank)
FABRICGAUGE_WEAK(PMPI_Comm_remote_group)
FABRICGAUGE_WEAK(PMPI_Comm_size)
FABRICGAUGE_WEAK(PMPI_Comm_split_type)
FABRICGAUGE_WEAK(PMPI_Comm_test_inter)
FABRICGAUGE_WEAK(PMPI_Finalize)
FABRICGAUGE_WEAK(PMPI_Gather)
FABRICGAUGE_WEAK(PMPI_Gatherv)
FABRICGAUGE_WEAK(PMPI_Get_library_version)
FABRICGAUGE_WEAK(PMPI_Group_free)
FABRICGAUGE_WEAK(PMPI_Group_rank)
FABRICGAUGE_WEAK(PMPI_Group_size)
FABRICGAUGE_WEAK(PMPI_Group_translate_ranks)
FABRICGAUGE_WEAK(PMPI_Init)
FABRICGAUGE_WEAK(PMPI_Init_thread)
FABRICGAUGE_WEAK(PMPI_Type_size_x)
FABRICGAUGE_WEAK(PMPI_Win_get_group)

#ifdef OPEN_MPI
FABRICGAUGE_WEAK(PMPI_Comm_f2c)
FABRICGAUGE_WEAK(PMPI_Type_f2c)
FABRICGAUGE_WEAK(PMPI_Win_f2c)
FABRICGAUGE_WEAK(ompi_mpi_byte)
FABRICGAUGE_WEAK(ompi_mpi_comm_null)
FABRICGAUGE_WEAK(ompi_mpi_comm_world)
FABRICGAUGE_WEAK(ompi_mpi_group_null)
FABRICGAUGE_WEAK(ompi_mpi_info_null)
FABRICGAUGE_WEAK(ompi_mpi_int)
FABRICGAUGE_WEAK(ompi_mpi_op_min)
FABRICGAUGE_WEAK(ompi_mpi_win_null)
#endif
