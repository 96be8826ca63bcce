"""UCX's tables of protocols (``UCX_PROTO_INFO=y``): which way messages of a GPU's memory take.

Facts are from UCX's docs/source/faq.md and src/ucp/proto (v1.12-1.20). A table is headed by what is
sent from or into which memory; a row has sizes, the protocol and what carries it. ``cuda_copy``,
``rocm_copy`` and ``copy-in`` copy to a buffer of UCX, in host memory unless the row says another
(``frag cuda``). ``zero-copy`` lets the adapter, or another GPU (``cuda_ipc``), read the memory.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.model.memory import DIRECT, STAGED

_WHO = re.compile(r"\[\d+\.\d+\] \[([^\]]{1,200})\]")
_HEAD = re.compile(r"\|(?P<place>[^|]* (?:ep_cfg\[\d+\]|\S+ cfg#\d+)) \| (?P<what>[^|]+?) *\|")
_MEMORY = re.compile(r" (?:from|into) ((?:cuda|rocm|ze)\S*)")
_ROW = re.compile(
    r"\| +(?P<least>\d+[KMG]?)\.\.inf \| (?:\(\?\) )?(?P<how>[^|]+?) +\| (?P<by>[^|]+?) *\|"
)
_COPIES = re.compile(r"\b(?:cuda|rocm|ze|gdr)_copy\b|\bcopy-in\b|\bemulation\b")
_OTHER_BUFFER = re.compile(r"\bfrag (?:cuda|rocm|ze)\b")
_LONGEST = 400


def gpu_ways(lines: Iterable[str]) -> Iterator[str]:
    """How the largest messages of each table about a GPU's memory go to another node.

    Like ``cuda/GPU0 from 811556 B straight from GPU memory (rendezvous …) by rc_mlx5/mlx5_0:1``.
    Ranks may write at once: a row belongs to the last head of its own process and thread.
    """
    memory_of: dict[str, str] = {}
    for line in lines:
        who = _WHO.search(line[:_LONGEST])
        if who is None:
            continue
        if head := _HEAD.search(line[:_LONGEST]):
            named = _MEMORY.search(head["what"])
            here = any(word in head["place"] for word in ("self", "intra-node"))
            memory_of[who[1]] = named[1] if named and not here else ""
        elif (memory := memory_of.get(who[1], "")) and (row := _ROW.search(line[:_LONGEST])):
            yield f"{memory} from {row['least']} B {_way(row['how'])} ({row['how']}) by {row['by']}"


def _way(how: str) -> str:
    staged = _COPIES.search(how) and ("frag host" in how or not _OTHER_BUFFER.search(how))
    return STAGED if staged else DIRECT
