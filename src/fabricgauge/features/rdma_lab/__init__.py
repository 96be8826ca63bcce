"""A lab of virtual machines with software RDMA: RoCE (rxe) and iWARP (siw). Emulated."""
