"""What breaks a program is told in a sentence."""

import pytest

from fabricgauge.logs.readers.nccl.troubles import meaning


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("n1: Test CUDA failure common.cu:892 'no CUDA-capable device is detected'", "no GPU"),
        ("n1: Test HIP failure common.cu:892 'no ROCm-capable device is detected'", "no GPU"),
        ("Test CUDA failure common.cu:1 'CUDA driver version is insufficient for CUDA runtime"
         " version'", "update the driver"),
        ("Test HIP failure common.cu:1 'HIP driver version is insufficient for runtime version'",
         "CUDA or ROCm"),
        ("sendrecv_perf: error while loading shared libraries: libcuda.so.1: cannot open shared"
         " object file: No such file or directory", "no working driver"),
        ("sendrecv_perf: error while loading shared libraries: librccl.so.1: cannot open shared"
         " object file: No such file or directory", "LD_LIBRARY_PATH"),
        ("Unable to open /dev/kfd read-write: Permission denied", "groups render and video"),
        ("n1: Test HIP failure common.cu:1 'invalid device function'", "generation of GPU"),
        ("n1: Test HIP failure common.cu:1 'out of memory'", "memory is full"),
        ("n1:1:2 [0] alloc.h:99 NCCL WARN Cuda failure 2 'out of memory'", "memory is full"),
        ("Test CUDA failure common.cu:1333 'CUDA-capable device(s) is/are busy or unavailable'",
         "another process"),
        ("n1: Test CUDA failure common.cu:941 'system not yet initialized'", "fabricmanager"),
        ("NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 7000",
         "rank for each GPU"),
        ("n1: Test NCCL failure common.cu:958 'invalid usage ",
         "rank for each GPU"),
        ("n1: Test NCCL failure common.cu:1051 'unhandled system error'", "locked memory"),
        ("n1: Test NCCL failure common.cu:1285 'unhandled cuda error'", "GPU's run-time"),
        ("NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1> with error 12, opcode 0",
         "gave up"),
        ("n1: Test timeout (20s) common.cu:523", "did not end in time"),
    ],
)  # fmt: skip
def test_each_trouble_has_its_sentence(line: str, told: str) -> None:
    assert told in meaning(line)


@pytest.mark.parametrize("line", ["", "# Avg bus bandwidth : 1.2", "NCCL INFO Connected all rings"])
def test_other_lines_have_none(line: str) -> None:
    assert meaning(line) == ""
