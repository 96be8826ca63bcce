/* Stands for an MPI that says that it is CUDA-aware, in tests with the stand-in for libcuda.so.1; preloaded
   into the ranks: cc -shared -fPIC -o gpu_aware.so stand_in_gpu_aware.c
   No unit test: tests/engines preloads it. */
int MPIX_Query_cuda_support(void) { return 1; }
