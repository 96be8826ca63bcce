"""Broken answers of trials and broken files of nodes, for the parsers that read them."""

from collections.abc import Callable
from functools import cache
from random import Random

from tests.fuzz.mutations import FIXTURES, Lines, broken

from fabricgauge.features.configure.export import fsid_of, lowest_free_fsid, parse_exports
from fabricgauge.features.configure.hosts import correct_hosts
from fabricgauge.features.configure.image import with_memlock
from fabricgauge.nodes.discover.probe import NodeAnswer
from fabricgauge.nodes.discover.sections import split_by_node
from fabricgauge.nodes.discover.trials import Echo, NodeTrial, TrialResults, add_answer

EXPORTS = b"""/home *(rw,no_subtree_check,fsid=10,no_root_squash)
/opt/ohpc/pub *(ro,no_subtree_check,fsid=11) 10.0.0.0/8(rw,fsid=0)
"/opt/with space" \\
    c[1-9](ro,fsid=12)  # a comment
/install -sync,fsid=root @nodes(ro) fe80::/64(rw,fsid=58c52ba0-a1b2-4d3f)
"""
HOSTS = b"""127.0.0.1 localhost
10.77.0.11 c1 c1-net1 # first
10.77.0.12\tc2   c2-net1
::1 localhost6 ip6-localhost
"""
LIMITS = b"""# /etc/security/limits.conf
*               soft    core            0
@student        hard    nproc           20
*  -  memlock  65536
# End of file
"""
LABELLED = b"c1: eth0 up\nc2: eth0 down\nc[3-4]: both\n"


def _trials(text: str) -> None:
    echo = Echo("net1", "c1", "eth0", "10.0.0.1", "c2", "10.0.0.2", 56, False, 5)
    add_answer(TrialResults(), NodeAnswer("c1", text, ""), NodeTrial((echo,), ("c2",)))


def _exports(text: str) -> None:
    free = lowest_free_fsid(text)
    assert free > 0
    assert free not in {fsid_of(one) for one in parse_exports(text)}


def _hosts(text: str) -> None:
    wanted = {"c1": "10.77.0.11", "c2": "10.77.0.99"}
    once = correct_hosts(text, wanted)
    assert correct_hosts(once, wanted) == once


def _limits(text: str) -> None:
    once = with_memlock(text, "unlimited")
    assert with_memlock(once, "unlimited") == once


def _labelled(text: str) -> None:
    split_by_node(text, ("c1", "c2"))
    split_by_node(text)


#: A parser by its name: what it must stand, and what it is given broken.
PARSERS: dict[str, tuple[Callable[[str], None], tuple[bytes, ...]]] = {
    "trials": (_trials, ()),
    "exports": (_exports, (EXPORTS,)),
    "hosts": (_hosts, (HOSTS,)),
    "limits": (_limits, (LIMITS,)),
    "labelled": (_labelled, (LABELLED,)),
}


@cache
def recorded(name: str) -> tuple[Lines, ...]:
    own = PARSERS[name][1]
    texts = own or tuple(p.read_bytes() for p in sorted((FIXTURES / name).glob("*.out")))
    return tuple(text.splitlines(keepends=True) for text in texts)


def input_of(name: str, seed: int, number: int) -> str:
    random = Random(f"{name}:{seed}:{number}")  # noqa: S311
    return broken(random, recorded(name)).decode("utf-8", "replace")
