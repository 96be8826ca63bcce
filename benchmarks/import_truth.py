"""What `import` says of figures whose truth is known: others' logs, one verdict for each table.

The truth of a recorded log is its ``.meta`` file's: both ends on one machine, whatever network is
stated for it. That of a published reference is its document's. From references that pass, tables
are made at half their rate, and tables that fall at large messages. ``python -m
benchmarks.import_truth`` prints the table that docs/development/judging-logs.md shows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.ceiling.technologies import ceilings
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import judgement
from fabricgauge.logs.read_files import read_file
from fabricgauge.logs.readers.suites import Found
from fabricgauge.logs.references.interface import names, reference
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve, SuitePoint, UnparsedLine
from fabricgauge.model.verdict import Outcome

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"

#: The network that is claimed for logs of each suite: what it measures.
CLAIMED = {
    **dict.fromkeys(("hpcc", "imb", "mpigraph", "osu"), "edr"),
    **dict.fromkeys(("iperf2", "iperf3", "netpipe", "qperf", "sockperf"), "100GbE"),
    **dict.fromkeys(("fabtests", "perftest", "ucx_perftest"), "100GbE roce"),
}
ONE_NODE = ("one machine", "shared memory", "loopback", "inside an emulated guest")
#: Tables of networks that a document prints and that are none: both ranks shared a node.
MEMORY = ("guide-40gbe-imb-pingpong", "guide-omni-path-imb-pingpong")
LARGE = 1 << 20

Said = Counter[Outcome]


def tables(
    found: Iterable[Found], network: str, hosts: tuple[str, ...] = ()
) -> tuple[TableVerdict, ...]:
    """The verdicts on what one file holds when that network and those hosts are stated for it."""
    stated, given = stated_network(network), tuple(found)
    ended = Ended(IMPORTED, 0, "", ("log",), 0.0)
    launch = Launch(
        1, stated.name, hosts, None, (), (), ended,
        curves=tuple(one for one in given if isinstance(one, SuiteCurve)),
        unparsed=tuple(one for one in given if isinstance(one, UnparsedLine)),
    )  # fmt: skip
    plan = Plan("import", Stopping(0.0, 0.0), False, (), tool="import")
    run = Run("r", "", (), {}, Fabric((), (), (stated,)), plan, (launch,), True)
    return judgement(Context(run, ceilings((stated,)))).tables


def judged(found: Iterable[Found], network: str, hosts: tuple[str, ...] = ()) -> Said:
    """How many tables get which outcome."""
    return Counter(one.outcome for one in tables(found, network, hosts) if one.line)


def of_one_node() -> Said:
    """Logs that were recorded on one machine, a network stated for each."""
    said: Said = Counter()
    for suite, network in CLAIMED.items():
        for meta in sorted((FIXTURES / suite).glob("*.meta")):
            if any(words in meta.read_text() for words in ONE_NODE):
                said += judged(read_file(meta.with_suffix(".out")), network)
    for name in MEMORY:
        said += judged(reference(name).curves, reference(name).network)
    return said


def networks() -> Iterator[tuple[str, str, SuiteCurve]]:
    """Published curves of real networks, each with its name and the network as it is stated."""
    for name in names():
        known = reference(name)
        if known.curves and known.network and name not in MEMORY:
            for number, one in enumerate(known.curves, 1):
                yield name, known.network, msgspec.structs.replace(one, first_line=number)


def of_networks() -> Said:
    return sum((judged((one,), network) for _, network, one in networks()), Counter())


def passing() -> list[tuple[str, SuiteCurve]]:
    """Bandwidths that pass as they were published."""
    return [
        (network, one)
        for _, network, one in networks()
        if one.quantity == "bandwidth" and set(judged((one,), network)) == {Outcome.PASS}
    ]


def of_half_the_rate() -> Said:
    each = (judged((_scaled(one, 0.5),), network) for network, one in passing())
    return sum(each, Counter())


def of_falling(hosts: tuple[str, ...]) -> Said:
    """The same with a message of 4 MiB more, at a quarter of the best rate."""
    said: Said = Counter()
    for network, one in passing():
        best = max(point.estimate.value for point in one.points)
        low = SuitePoint(4 * LARGE, Estimate(best / 4, best / 4, best / 4, 0.0, 1, 0), 0)
        high = msgspec.structs.replace(low, message_bytes=LARGE, estimate=_exactly(best))
        said += judged((msgspec.structs.replace(one, points=(high, low)),), network, hosts)
    return said


def _scaled(curve: SuiteCurve, factor: float) -> SuiteCurve:
    points = tuple(
        msgspec.structs.replace(one, estimate=_exactly(one.estimate.value * factor))
        for one in curve.points
    )
    return msgspec.structs.replace(curve, points=points)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value, 0.0, 1, 0)


def rows() -> dict[str, Said]:
    """Truth against verdict."""
    return {
        "one machine, a network claimed": of_one_node(),
        "a network, as published": of_networks(),
        "a network at half its rate": of_half_the_rate(),
        "a network that falls at 4 MiB, two hosts stated": of_falling(("c1", "c2")),
        "the same, hosts not known": of_falling(()),
    }


def page() -> str:
    """The table of docs/development/judging-logs.md."""
    outcomes = tuple(Outcome)
    heads = ("truth", "tables", *(f"`{one.value}`" for one in outcomes))
    lines = [heads, tuple("---" for _ in heads)]
    for truth, said in rows().items():
        lines.append((truth, str(said.total()), *(str(said[one] or "") for one in outcomes)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(page(), end="")
