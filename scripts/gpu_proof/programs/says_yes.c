/* Answers for an MPI that was built without CUDA and runs over a UCX that was built with it: such an MPI
   says no, while UCX takes messages of GPU memory between a pair. It does not take reductions. */
int MPIX_Query_cuda_support(void) { return 1; }
