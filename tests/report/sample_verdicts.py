"""Verdicts of the sample run: all well, and each way in which it can go wrong."""

import msgspec

from fabricgauge.model.verdict import (
    Figure,
    Outcome,
    Threshold,
    Verdict,
    VerdictSubject,
    identity,
)


def placed(verdict: Verdict, nodes: tuple[str, str]) -> Verdict:
    """With its network, its subject as values and its id, as a rule gives them."""
    first, second = nodes
    known = {
        f"{first} → {second}": VerdictSubject("stream", "net1", (first, second), "bandwidth"),
        f"{second} → {first}": VerdictSubject("stream", "net1", (second, first), "bandwidth"),
        f"{first} ↔ {second}": VerdictSubject("directions", "net1", (first, second), "bandwidth"),
    }
    about = known.get(verdict.subject, VerdictSubject("network", "net1"))
    made = identity(verdict.rule, about)
    return msgspec.structs.replace(verdict, network="net1", about=about, id=made)


def passing(nodes: tuple[str, str]) -> tuple[Verdict, ...]:
    first, second = nodes
    return (
        Verdict(
            rule="placement", outcome=Outcome.PASS, subject="net1",
            summary="every rank ran on its own node",
            evidence=(f"rank 0 ran on {first}, rank 1 on {second}, with different boot ids",),
        ),
        Verdict(
            rule="path", outcome=Outcome.PASS, subject="net1",
            summary="99.98 % of the bytes crossed net1",
            figure=Figure(0.9998, "share", "of the octets that left the nodes crossed eth0"),
            threshold=Threshold(0.99, "share", "at least",
            "built-in: all but name lookups and keep-alives"),
            evidence=(f"{first} sent 27.4 GB over eth0 and 1.4 MB over lo",),
        ),
        Verdict(
            rule="floor", outcome=Outcome.PASS, subject="net1",
            summary="10.4 µs (half round trip at 8 B) is not below the 2 µs that the medium needs",
            figure=Figure(10.4e-6, "s", "median, half round trip at 8 B"),
            threshold=Threshold(2e-6, "s", "at least",
            "floor.tcp, built-in: kernel TCP takes 5-50 µs"),
        ),
        Verdict(
            rule="fraction-of-ceiling", outcome=Outcome.PASS, subject=f"{first} → {second}",
            summary="117.20 MB/s at 1 MiB is 99.6 % of the ceiling",
            figure=Figure(117.2e6, "bytes/s per direction at 1 MiB", "median bandwidth"),
            threshold=Threshold(0.95 * 117.69e6, "bytes/s per direction", "at least",
                      "95 % of the ceiling (built-in)"),
            evidence=("launches 1, 2 and 3 read 117.1, 117.2 and 117.2 MB/s",),
        ),
        Verdict(rule="asymmetry", outcome=Outcome.PASS, subject=f"{first} ↔ {second}",
            summary="the directions differ by 0.2 %",
                figure=Figure(0.002, "share", "difference between the directions at 1 MiB"),
                threshold=Threshold(0.05, "share", "at most", "built-in")),
        Verdict(rule="host-limited", outcome=Outcome.SKIPPED, subject="net1",
                summary="the bandwidth is at its ceiling, so nothing limits it below"),
    )  # fmt: skip


def failing(nodes: tuple[str, str]) -> tuple[Verdict, ...]:
    first, second = nodes
    slow = Verdict(
        rule="fraction-of-ceiling", outcome=Outcome.FAIL, subject=f"{first} → {second}",
        summary="the stream reaches 9.98 % of the ceiling",
        figure=Figure(11.75e6, "bytes/s per direction at 1 MiB", "median bandwidth"),
        threshold=Threshold(0.95 * 117.69e6, "bytes/s per direction", "at least",
                  "95 % of the ceiling (built-in)"),
        evidence=("launches 1, 2 and 3 read 11.74, 11.75 and 11.75 MB/s",
         "both processors were idle for 97 % of the time"),
        cause="the link runs at 100 Mb/s instead of 1 Gb/s",
        remedy=f"compare the negotiated rate on {first} and {second}: ethtool eth0",
    )  # fmt: skip
    uneven = Verdict(
        rule="instability", outcome=Outcome.WARN, subject=f"{second} → {first}",
        summary="launches differ by 7.1 %",
        figure=Figure(0.071, "share", "spread of the launches' medians at 64 KiB"),
        threshold=Threshold(0.05, "share", "at most", "built-in"),
        evidence=("64 KiB: 11.2, 11.6 and 12.0 MB/s",),
        cause="other traffic on the link or on the hosts",
        remedy="measure again when the link is quiet: fabricgauge check --profile full",
    )  # fmt: skip
    kept = [one for one in passing(nodes) if one.rule != "fraction-of-ceiling"]
    return (*kept[:2], uneven, *kept[2:], slow)


def invalid(nodes: tuple[str, str]) -> tuple[Verdict, ...]:
    wrong = Verdict(
        rule="placement",
        outcome=Outcome.INVALID,
        subject="net1",
        summary=f"both ranks ran on {nodes[0]}",
        evidence=(f"rank 0 and rank 1 report the boot id boot-{nodes[0]}",),
        cause="the launcher put both ranks on one node, so memory was measured",
        remedy=f"start one rank per node: -hosts {nodes[0]}:1,{nodes[1]}:1",
    )
    return (wrong, *passing(nodes)[1:])
