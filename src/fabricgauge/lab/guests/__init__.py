"""The lab's second form: nodes are virtual machines with a kernel each, so that they have RDMA."""
