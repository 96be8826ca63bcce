"""Read a run directory into the panels of the history."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.features.history.values import Panel, Part, Share, StoredRun
from fabricgauge.judge.judging import deciding, overall
from fabricgauge.judge.localise.matrices import node_of_rank
from fabricgauge.judge.stats.series import Series, series_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import StoreError
from fabricgauge.model.fabric import Node
from fabricgauge.model.passes import passes_of
from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.plan import CLOSING
from fabricgauge.model.request import OWN_LAB, MeasurementRequest
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.store.run_directory import DAMAGED, RunDirectory, read_overall
from fabricgauge.store.run_files import load, stored_request

#: Settings of a whole run that may explain a change; the rest of its environment names places.
RUN_SETTINGS = ("fabricgauge", "MPI", "engine identity", "engine compiler", "suite", "launcher")
RUN_PREFIXES = ("UCX_", "FI_", "MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "I_MPI_", "PSM2_", "library ",
                "carried by, over ")  # fmt: skip
#: Facts of a node that change without a cause for concern.
VOLATILE_FACTS = frozenset({"load average"})


def read_run(path: Path) -> StoredRun:
    """Return a run with its figures; a run that cannot be read has a ``trouble`` and no figure."""
    directory = RunDirectory(path)
    try:
        run = load(directory)
        stored, verdicts = read_overall(directory), tuple[Verdict, ...]()
        if (directory.path / "verdicts.json").exists():
            verdicts = directory.read("verdicts.json", tuple[Verdict, ...])
        outcome = Outcome(stored) if stored else overall(verdicts, deciding(run))
        return _summarise(run, outcome, verdicts, _read_request(directory))
    except (StoreError, *DAMAGED, ValueError, KeyError, IndexError) as error:
        return StoredRun(
            directory.identity, parse_time(directory.identity), directory.complete, "", "", "",
            (), (), {}, msgspec.Raw(b"{}"), (), trouble=f"{type(error).__name__}: {error}"[:300],
        )  # fmt: skip


def _read_request(directory: RunDirectory) -> MeasurementRequest:
    try:
        return stored_request(directory)
    except StoreError:
        return MeasurementRequest()


def parse_time(text: str) -> float:
    """Return seconds since 1970 of ``2026-11-23T15:21:56Z`` or a run's identity; else 0."""
    for form, length in (("%Y-%m-%dT%H:%M:%SZ", 20), ("%Y%m%dT%H%M%SZ", 16)):
        try:
            return datetime.strptime(text[:length], form).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    return 0.0


def _summarise(
    run: Run, outcome: Outcome, verdicts: tuple[Verdict, ...], request: MeasurementRequest
) -> StoredRun:
    decisive = next((verdict for verdict in verdicts if verdict.outcome is outcome), None)
    invalid = {verdict.network for verdict in verdicts if verdict.outcome is Outcome.INVALID}
    summary = f"{decisive.rule}: {decisive.subject}: {decisive.summary}" if decisive else ""
    return StoredRun(
        name=run.identity,
        started_s=parse_time(run.started_utc) or parse_time(run.identity),
        complete=run.complete,
        outcome=outcome.value if verdicts else "",
        headline="" if outcome is Outcome.PASS else summary,
        place=_place(run, request),
        nodes=tuple(node.name for node in run.fabric.nodes)
        or tuple(dict.fromkeys(node for launch in run.launches for node in launch.nodes)),
        networks=tuple(network.name for network in run.fabric.networks),
        settings={
            name: value
            for name, value in run.environment.items()
            if name in RUN_SETTINGS or name.startswith(RUN_PREFIXES)
        },
        node_settings=msgspec.Raw(
            msgspec.json.encode({node.name: describe_node(node) for node in run.fabric.nodes})
        ),
        panels=tuple(_panels(run, invalid)),
        shares=tuple(
            Share(
                verdict.threshold.origin.partition(",")[0],
                verdict.network,
                verdict.figure.value,
                verdict.outcome.value,
            )
            for verdict in verdicts
            if verdict.figure is not None and verdict.threshold is not None
        ),
    )


def _place(run: Run, request: MeasurementRequest) -> str:
    if request.sim or run.fabric.simulated:
        return f"simulated {request.sim}".strip()
    if run.imported:
        return "imported"
    if request.lab:
        return "lab" if request.lab == OWN_LAB else f"lab {request.lab}"
    return "lab" if run.fabric.virtual else ""


def describe_node(node: Node) -> dict[str, str]:
    """Return what a change of a node's figures may come from: versions, firmware, links, limits."""
    settings = {"kernel": node.kernel}
    for adapter in node.adapters:
        where = next(iter((*adapter.rdma_devices, *adapter.interfaces)), str(adapter.bus))
        for name in ("product", "firmware", "driver", "driver_version"):
            value = getattr(adapter, name)
            if not isinstance(value, Skipped):
                settings[f"{where} {name.replace('_', ' ')}"] = str(value)
        if not isinstance(adapter.pcie_now, Skipped):
            settings[f"{where} PCIe"] = str(adapter.pcie_now)
    for interface in node.interfaces:
        if interface.name == "lo" or not interface.addresses:
            continue
        settings[f"{interface.name} MTU"] = str(interface.mtu_bytes)
        if not isinstance(interface.speed_bit_s, Skipped):
            settings[f"{interface.name} speed"] = f"{interface.speed_bit_s / 1e9:g} Gb/s"
    return settings | {k: v for k, v in node.facts.items() if k not in VOLATILE_FACTS}


def _panels(run: Run, invalid: set[str]) -> Iterator[Panel]:
    """Yield the panels of all networks whose figures are valid."""
    by_network: dict[str, list[Launch]] = {}
    for launch in run.launches:
        if launch.purpose == "measure" and not is_loopback(launch.network):
            by_network.setdefault(launch.network or "", []).append(launch)
    for network, launches in by_network.items():
        if network in invalid or "" in invalid:
            continue
        yield from _pair_panels(network, series_of(launches))
        yield from _node_panels(network, launches)


def _pair_panels(network: str, all_series: Sequence[Series]) -> Iterator[Panel]:
    """Yield a panel for each pattern between two nodes: a place for each way or pair."""
    groups: dict[tuple[Part, str, str, str], list[Series]] = {}
    for series in all_series:
        if series.origin == series.target:
            continue
        one_way = series.pattern not in LATENCY_PATTERNS and "bidirectional" not in series.pattern
        part: Part = "way" if one_way else "pair"
        # Buffers that are not usual change the level, as a variant does.
        buffers = "" if series.buffers == "fewest" else f"{series.buffers} buffers"
        variant = ", ".join(filter(None, (series.variant, buffers)))
        # The program that measured, "" for the engine; logs are not distinguished.
        log = f"{series.foreign.place} " if series.foreign else ""
        tool = series.program or series.source.removeprefix(log)
        key = part, series.pattern, variant, tool
        groups.setdefault(key, []).append(series)
    for (part, pattern, variant, tool), members in groups.items():
        figures: dict[tuple[str, ...], dict[int, list[tuple[float, float]]]] = {}
        for series in members:
            place = series.way if part == "way" else tuple(sorted(series.ends))
            for point in series.points:
                estimate = point.time if series.is_latency else point.bandwidth
                usable = point.sized and estimate.value > 0 and estimate.confidence >= 0
                if usable and (series.is_latency or point.message_bytes > 0):
                    half = estimate.half_width if estimate.supported else np.nan
                    sizes = figures.setdefault(place, {})
                    sizes.setdefault(point.message_bytes, []).append((estimate.value, half))
        if figures:
            yield _panel(network, part, pattern, variant, tool, figures)


def _panel(
    network: str, part: Part, pattern: str, variant: str, tool: str,
    figures: dict[tuple[str, ...], dict[int, list[tuple[float, float]]]],
) -> Panel:  # fmt: skip
    """Return the figures as a table; of several in one run, as in repeated logs, the median."""
    places = tuple(figures)
    sizes = tuple(sorted({size for by_size in figures.values() for size in by_size}))
    table = np.full((len(places), len(sizes), 2), np.nan, dtype=np.float32)
    for row, place in enumerate(places):
        for size, entries in figures[place].items():
            table[row, sizes.index(size)] = (
                entries[0] if len(entries) == 1 else np.median(entries, axis=0)
            )
    return Panel(network, part, pattern, variant, tool, places, sizes, table[..., 0], table[..., 1])


def _node_panels(network: str, launches: Sequence[Launch]) -> Iterator[Panel]:
    """Yield each node's median over its partners, from the rounds in which all pairs meet."""
    entries: dict[tuple[str, str, int], list[tuple[NDArray[Any], ...]]] = {}
    names = tuple(dict.fromkeys(node for launch in launches for node in launch.nodes))
    for launch in launches:
        if not launch.rounds:
            continue
        nodes = node_of_rank(launch, names)
        for pair_pass in passes_of(launch):
            if pair_pass.case.endswith(CLOSING):
                continue
            from_ranks, to_ranks, figures, _ = pair_pass.entries()
            origins, targets = nodes[from_ranks], nodes[to_ranks]
            good = (origins != targets) & (origins >= 0) & (targets >= 0)
            key = pair_pass.quantity, pair_pass.case.partition("/")[0], pair_pass.message_bytes
            columns = (origins, targets, figures)
            entries.setdefault(key, []).append(tuple(column[good] for column in columns))
    for (quantity, pattern, message_bytes), passes in entries.items():
        origins, targets, figures = map(np.concatenate, zip(*passes, strict=True))
        # A latency stands in both directions.
        ends: dict[Part, NDArray[np.int64]] = (
            {"node": origins} if quantity == "latency" else {"sender": origins, "receiver": targets}
        )
        for part, end_nodes in ends.items():
            places, table = _over_partners(names, end_nodes, figures, quantity == "latency")
            if places:
                yield Panel(network, part, pattern, "", "", places, (message_bytes,),
                            table[:, :1], table[:, 1:])  # fmt: skip


def _over_partners(
    names: Sequence[str], nodes: NDArray[np.int64], figures: NDArray[np.floating], less: bool
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.float32]]:
    """Return the measured nodes; median and half of the relative interquartile range of each.

    The better of two middle figures counts: of two partners one may be slow. ``less`` is better.
    """
    order = np.lexsort((figures, nodes))
    ordered, sizes = figures[order], np.bincount(nodes, minlength=len(names))
    first = np.cumsum(sizes) - sizes
    measured = np.flatnonzero(sizes)
    count, start = sizes[measured], first[measured]
    median = ordered[start + ((count - 1) // 2 if less else count // 2)]
    quartiles = ordered[start + (3 * (count - 1)) // 4] - ordered[start + (count - 1) // 4]
    table = np.column_stack((median, quartiles / (2 * median))).astype(np.float32)
    return tuple((names[int(node)],) for node in measured), table
