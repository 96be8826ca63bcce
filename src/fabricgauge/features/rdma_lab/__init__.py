"""Labs whose nodes are virtual machines with a kernel each, so that they have RDMA."""
