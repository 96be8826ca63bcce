"""Read UCX's tables of protocols (``UCX_PROTO_INFO=y``): the transport of GPU memory.

Facts are from UCX's docs/source/faq.md and src/ucp/proto (v1.12-1.20), and from a recorded output
of v1.22. A table's head names the place, then the operation and the memory, in one line or (v1.22)
in two; a row has sizes, the protocol and its transport. ``cuda_copy``,
``rocm_copy`` and ``copy-in`` copy to a buffer of UCX, in host memory unless the row names another
(``frag cuda``). ``zero-copy`` lets the adapter, or another GPU (``cuda_ipc``), read the memory.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.model.memory import DIRECT, STAGED

_WHO = re.compile(r"\[\d+\.\d+\] \[([^\]]{1,200})\]")
_HEAD = re.compile(r"\|(?P<place>[^|]* (?:ep_cfg\[\d+\]|\S+ cfg#\d+)) \| (?P<what>[^|]+?) *\|")
_PLACE = re.compile(r"\| (?P<place>[^|]*\bcfg#\d+) +\|$")
_WHAT = re.compile(r"\| (?P<what>[^|]+?) +\|$")
_MEMORY = re.compile(r" (?:from|into) ((?:cuda|rocm|ze)\S*)")
_ROW = re.compile(
    r"\| +(?P<least>\d+[KMG]?)\.\.inf \| (?:\(\?\) )?(?P<how>[^|]+?) +\| (?P<by>[^|]+?) *\|"
)
_COPIES = re.compile(r"\b(?:cuda|rocm|ze|gdr)_copy\b|\bcopy-in\b|\bemulation\b")
_OTHER_BUFFER = re.compile(r"\bfrag (?:cuda|rocm|ze)\b")
_LONGEST = 400


def gpu_ways(lines: Iterable[str]) -> Iterator[str]:
    """Describe how the largest messages of GPU memory go to another node, one line a table.

    Like ``cuda/GPU0 from 811556 B straight from GPU memory (rendezvous …) by rc_mlx5/mlx5_0:1``.
    Ranks may write at once: a row belongs to the last head of its own process and thread.
    """
    memory_of: dict[str, str] = {}
    place_of: dict[str, str] = {}
    for line in lines:
        who = _WHO.search(line[:_LONGEST])
        if who is None:
            continue
        text = line[:_LONGEST].rstrip()
        if place := _PLACE.search(text):
            place_of[who[1]] = place["place"]
        elif head := _HEAD.search(text) or (who[1] in place_of and _WHAT.search(text)):
            named = _MEMORY.search(head["what"])
            words = place_of.pop(who[1], "") or head["place"]
            is_same_node = any(word in words for word in ("self", "intra-node"))
            memory_of[who[1]] = named[1] if named and not is_same_node else ""
        elif (memory := memory_of.get(who[1], "")) and (row := _ROW.search(line[:_LONGEST])):
            copies = _COPIES.search(row["how"])
            staged = copies and ("frag host" in row["how"] or not _OTHER_BUFFER.search(row["how"]))
            path = STAGED if staged else DIRECT
            by = f" by {row['by']}" if row["by"].strip() else ""
            yield f"{memory} from {row['least']} B {path} ({row['how']}){by}"
