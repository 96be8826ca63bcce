"""The faults of the truth table, as a user would plant them by hand."""

from typing import Literal

import msgspec


class Case(msgspec.Struct, frozen=True):
    """A fault, as words for ``fabricgauge lab``; ``{odd}`` is the odd node, ``{ip}`` its address.

    ``when`` says whether it is there before the check, comes in its first launch, or comes and
    goes from then on. ``pair`` says that the culprit is the pair of c1 and the odd node; ``also``
    is a second fault, with the pair or node that it breaks. ``fewest`` nodes are needed. With
    ``two_networks`` the lab has another one, which is not measured.
    """

    name: str
    plant: tuple[str, ...] = ()
    when: Literal["before", "in the first launch", "on and off"] = "before"
    pair: bool = False
    also: tuple[tuple[str, ...], str] = ((), "")
    fewest: int = 2
    two_networks: bool = False


#: Drops what would begin a TCP connection to a port that is not a system's own.
_NO_SYN = (
    "12,40 0 0 12,21 0 9 2048,48 0 0 23,21 0 7 6,177 0 0 14,80 0 0 27,69 0 4 2,69 3 0 16,"
    "72 0 0 16,53 0 1 1024,6 0 0 2,6 0 0 4294967295"
)
_OF_NODE = (
    'for p in /proc/[0-9]*; do test "$(readlink $p/ns/net)" = "$(readlink /proc/self/ns/net)"'
)
_STOP = (
    f"{_OF_NODE} && grep -aq fabricgauge-engin[e] $p/cmdline && kill -STOP ${{p#/proc/}}; done;"
    " true"
)


def _fault(words: str) -> tuple[str, ...]:
    return ("fault", *words.split())


def _unreached(node: str, ip: str) -> tuple[str, ...]:
    return ("exec", node, "--", "ip", "route", "add", "blackhole", ip)


def _routed(node: str, ip: str) -> tuple[str, ...]:
    return ("exec", node, "--", "ip", "route", "add", ip, "dev", "eth1")


CASES = (
    Case("healthy"),
    Case("rate 25 %", _fault("rate {odd} net1 250M")),
    Case("rate 50 %", _fault("rate {odd} net1 500M")),
    Case("rate 80 %", _fault("rate {odd} net1 800M")),
    Case("rate 90 %", _fault("rate {odd} net1 900M")),
    Case("rate 10 %", _fault("rate {odd} net1 100M")),
    Case("receives 50 %", _fault("rate-in {odd} net1 500M")),
    Case("sends 50 %", _fault("rate-out {odd} net1 500M")),
    Case("own port 5 %", _fault("port-rate {odd} net1 50M")),
    Case("loss 1 %", _fault("loss {odd} net1 1")),
    Case("loss 2 %", _fault("loss {odd} net1 2")),
    Case("MTU 1400", _fault("mtu {odd} net1 1400")),
    Case("dead node", _fault("link-down {odd} net1")),
    Case("dead pair", _unreached("c1", "{ip}"), pair=True),
    Case("dead pair, other way", _unreached("{odd}", "10.77.0.11"), pair=True),
    Case("two dead pairs", _unreached("c1", "{ip}"), pair=True,
         also=(_unreached("c2", "10.77.0.14"), "c2-c4"), fewest=4),
    Case(
        "wrong ARP entry",
        ("exec", "c1", "--", "ip", "neigh", "add", "{ip}", "lladdr", "02:00:00:00:00:99",
         "dev", "eth0"),
        pair=True,
    ),
    Case("duplicate address", _fault("address {odd} net1 10.77.0.11/24"), pair=True),
    Case(
        "high ports filtered",
        ("exec", "{odd}", "--", "sh", "-c",
         "tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress protocol all "
         f"bpf direct-action bytecode '{_NO_SYN}'"),
    ),
    Case("route by another network", _routed("{odd}", "10.77.0.11"),
         also=(_routed("c1", "{ip}"), "c1"), two_networks=True),
    Case("wrong hosts entry", _fault("hosts {odd} net1 head=10.77.0.99")),
    Case("dies in mid-run", _fault("link-down {odd} net1"), "in the first launch"),
    Case("rank stopped in mid-run", ("exec", "{odd}", "--", "sh", "-c", _STOP),
         "in the first launch"),
    Case("link flaps", _fault("link-down {odd} net1"), "on and off"),
)  # fmt: skip


def odd_node(nodes: int) -> str:
    """The node that a fault is planted on."""
    return "c2" if nodes == 2 else "c3"
