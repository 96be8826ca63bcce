! The same three calls by mpif.h, by the module mpi or by mpi_f08, as HOW says.
program profiled
#if HOW == 1
  implicit none
  include 'mpif.h'
#elif HOW == 2
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: rank, error, numbers(100), sums(100)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  numbers = rank
  if (rank == 0) call MPI_Send(numbers, 100, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(numbers, 100, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Allreduce(numbers, sums, 50, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, sums, 50, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
