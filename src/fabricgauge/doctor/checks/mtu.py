"""Do packets of the full MTU pass, in one piece?"""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.doctor.blame import Pair, blamed, concerns, pair, twins
from fabricgauge.doctor.places import End, ends
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Ping, Preflight

ID = "mtu"
TITLE = "All members of a network have one MTU, and packets of that size pass"
WHY = (
    "A packet that is larger than the next hop takes is lost or cut: large messages hang or crawl,"
    " small ones pass."
)


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = tuple(ends(preflight))
    if not every:
        return Skipped("no network joins these nodes")
    return (*_different(every), *_lost(preflight, every))


def _different(every: tuple[End, ...]) -> Iterator[Finding]:
    for network in dict.fromkeys(end.network.name for end in every):
        members = [end for end in every if end.network.name == network]
        counts = Counter(end.interface.mtu_bytes for end in members)
        usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
        other = next(end for end in members if end.interface.mtu_bytes == usual)
        for end in members:
            if end.interface.mtu_bytes != usual:
                yield _odd(end, usual, other)


def _odd(end: End, usual: int, other: End) -> Finding:
    own = end.interface.mtu_bytes
    argv = ("ip", "link", "set", "dev", end.interface.name, "mtu", str(usual))
    evidence = (f"{end.where} has MTU {own}", f"{other.where} has MTU {usual}")
    return Finding(
        ID, Severity.FAIL, end.where, f"has MTU {own}, {end.network.name} has {usual} elsewhere",
        evidence, WHY,
        "set the network's MTU, here and where the interface is configured at each start",
        (end.seen.name,), end.network.name, (Command(end.seen.name, argv),),
    )  # fmt: skip


def _lost(preflight: Preflight, every: tuple[End, ...]) -> Iterator[Finding]:
    """Whole echoes of the full MTU that all vanish where no small one does.

    Of two nodes with one address, whichever a neighbour remembers gets the answers: they
    prove nothing.
    """
    places = {(end.network.name, end.seen.name): end.where for end in every}
    for network in preflight.fabric.networks:
        pings = [ping for ping in preflight.pings if ping.network == network.name]
        small, twice = _small(pings), twins(pings)
        whole = [
            p for p in pings
            if p.whole and p.sent and small.get(pair(p.source, p.target))
            and not {p.source, p.target} & set(twice)
        ]  # fmt: skip
        failed: dict[Pair, bool] = {}
        for ping in whole:
            name = pair(ping.source, ping.target)
            failed[name] = failed.get(name, False) or not ping.received
        for who in blamed(failed):
            lost = [
                p for p in whole
                if not p.received and concerns(who, pair(p.source, p.target))
            ]  # fmt: skip
            names = [places.get((network.name, node), node) for node in who]
            yield _not_whole(network.name, network.mtu_bytes, who, names, lost)


def _small(pings: list[Ping]) -> dict[Pair, bool]:
    """By pair, whether every small echo came back."""
    found: dict[Pair, bool] = {}
    for ping in pings:
        if not ping.whole and ping.payload_bytes < 1000 and ping.sent:
            name = pair(ping.source, ping.target)
            found[name] = found.get(name, True) and ping.received == ping.sent
    return found


def _not_whole(
    network: str, mtu_bytes: int, who: tuple[str, ...], names: list[str], lost: list[Ping]
) -> Finding:
    evidence = [
        f"{p.source} → {p.target} ({p.target_ip}): {p.received} of {p.sent} whole echoes of"
        f" {p.payload_bytes} bytes came back, all small ones did"
        + (f"; ping: {p.told}" if p.told else "")
        for p in lost
    ]
    return Finding(
        ID, Severity.FAIL, listed(names) if len(who) == 1 else f"between {listed(names)}",
        f"packets of the full MTU ({mtu_bytes}) do not pass",
        tuple(evidence), WHY,
        "raise the MTU of the switch's ports on the way (jumbo frames), or lower that of all"
        " members to what passes: ping -M do -s BYTES finds it",
        who, network,
    )  # fmt: skip
