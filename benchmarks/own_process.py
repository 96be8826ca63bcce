"""Run a part of a benchmark in a process of its own, so that its peak memory is its own."""

import resource
import sys
from typing import TypeVar

import msgspec

from fabricgauge.nodes import process

_T = TypeVar("_T")


def in_own_process(module: str, nodes: int, kind: type[_T], timeout_s: float) -> _T:
    """Return what the module prints with ``--child NODES``."""
    argv = [sys.executable, "-m", module, "--child", str(nodes)]
    done = process.run(argv, timeout_s=timeout_s)
    assert done.exit_code == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=kind)


def peak_mb() -> float:
    """Return the largest memory of this process so far. Linux gives kibibytes: getrusage(2)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
