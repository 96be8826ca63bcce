"""Explain what breaks nccl-tests and rccl-tests, in one sentence each with a remedy.

Words of the CUDA and HIP run-times (cudaGetErrorString of CUDA 12, hipGetErrorString of ROCm 6), of
NCCL (src/init.cc: ncclGetErrorString) and of nccl-tests (src/common.h, src/common.cu).
"""

import re

#: Signs in a line, and their meaning. The first one that fits counts; NCCL's own words are vague.
_MEANINGS: tuple[tuple[str, str], ...] = (
    (r"[Uu]nable to open /dev/kfd|/dev/kfd.*(?:denied|No such file)",
     "the user cannot open AMD's driver: load amdgpu on this node, join the groups render and"
     " video, or give the container /dev/kfd and /dev/dri"),
    (r"error while loading shared libraries: (?:libcudart|libnccl|librccl|libamdhip64)",
     "a library that the program was built with is not found on this node: load its module, or set"
     " LD_LIBRARY_PATH"),
    (r"no (?:CUDA|ROCm)-capable device is detected|no GPUs? (?:found|detected)",
     "the driver shows no GPU on this node: look at nvidia-smi or rocm-smi, at the container's"
     " devices and at CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES"),
    (r"driver version is insufficient for",
     "the GPU's driver is older than the CUDA or ROCm that the program was built with: update the"
     " driver"),
    (r"libcuda\.so|driver on your system|driver is not (?:loaded|initialized)|Driver/library",
     "this node has no working driver of the GPU: see whether nvidia-smi or rocm-smi answers, and"
     " install or load the driver"),
    (r"\bout of memory\b",
     "the GPU's memory is full: see in nvidia-smi or rocm-smi what else holds it, or measure"
     " smaller messages"),
    (r"busy or unavailable",
     "another process holds the GPU: see in nvidia-smi or rocm-smi which, and whether its mode is"
     " exclusive"),
    (r"system not yet initialized",
     "the NVLink switches are not set up: start nvidia-fabricmanager on the node"),
    (r"uncorrectable ECC error", "the GPU's memory is faulty: take the node out"),
    (r"no kernel image is available|[Uu]nable to find code object|invalid device function",
     "the program or NCCL was built for another generation of GPU: build it for this one"),
    (r"Duplicate GPU detected|'invalid usage",
     "NCCL was called wrongly, as a rule two ranks with one GPU: start one rank for each GPU, and"
     " look at CUDA_VISIBLE_DEVICES; a plugin that NCCL_NET names may be missing"),
    (r"Got completion .*(?:error 12|status=12)|RETRY_EXC",
     "an RDMA connection gave up: packets between two adapters are lost (cable, GID index, MTU,"
     " partition); measure that pair with ib_write_bw"),
    (r"Got completion .*(?:error |status=)(?:IBV_WC_\w+\()?(?:4|10)\b",
     "an adapter may not access the memory of a GPU or of the host: as a rule nvidia-peermem does"
     " not fit the driver, or ACS or an IOMMU is in the way; NCCL_NET_GDR_LEVEL=LOC shows whether"
     " it works without GPUDirect RDMA"),
    (r"Got completion .*(?:error|status)|async fatal event",
     "an RDMA transfer failed: look at the adapter that NCCL names, its port counters and dmesg on"
     " both nodes"),
    (r"ibv_(?:reg_mr\w*|create_[cq][qp]|create_qp) failed.*Cannot allocate memory",
     "too little memory may be locked: ulimit -l must be unlimited, for the batch system's daemon"
     " as well"),
    (r"unhandled system error",
     "a call of the system failed for NCCL: NCCL_DEBUG=INFO names it; as a rule no way between the"
     " nodes' addresses, /dev/shm too small, or too little locked memory (ulimit -l)"),
    (r"unhandled (?:cuda|hip) error",
     "a call of the GPU's run-time failed for NCCL: NCCL_DEBUG=INFO names it"),
    (r"remote process exited|network error",
     "another rank ended or could not be reached: look for the first error of any rank"),
    (r": Test timeout|[Tt]imed out waiting",
     "a collective did not end in time: a rank has died or waits, or a link between nodes carries"
     " nothing; measure fewer nodes until one stands out"),
)  # fmt: skip
_SIGNS = tuple((re.compile(sign), meaning) for sign, meaning in _MEANINGS)

#: Every rank prints a table of its own GPU.
WITHOUT_MPI = (
    "each rank measured its own GPU alone: the program was built without MPI; build it with"
    " `make clean; make MPI=1 MPI_HOME=…`"
)


def meaning(text: str) -> str:
    """Return the meaning of a line and its remedy; empty for a line without a known sign."""
    return next((meaning for sign, meaning in _SIGNS if sign.search(text)), "")
