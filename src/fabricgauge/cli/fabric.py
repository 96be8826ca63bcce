"""The options of ``check`` that concern more than two nodes, and what they ask for."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.measuring import Decorated, added
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.model.host_access import HostAccess
    from fabricgauge.model.topology import Topology
    from fabricgauge.plan.fabric_plan import FabricWanted
    from fabricgauge.sim.simulation import Simulation

_OWN_LAB = (
    click.option(
        "-N", "--nodes", type=click.IntRange(1, 128),
        help="How many nodes a lab made for this check has.  [default: 2]",
    ),
)  # fmt: skip

_MANY = (
    click.option(
        "--ppn", type=click.IntRange(1, 1024), default=1, show_default=True,
        help="Ranks on each node.",
    ),
    click.option(
        "--budget", metavar="TIME",
        help="Time for all of it, e.g. 90s, 10m, 2h: fewer samples, then fewer pairs.",
    ),
    click.option(
        "--concurrent", type=click.IntRange(0, 1 << 20), default=0, metavar="PAIRS",
        help="Pairs that measure at once; default: all, in a lab one.",
    ),
    click.option(
        "--topology", type=click.Path(dir_okay=False, exists=True, path_type=Path), metavar="FILE",
        help="Groups of nodes: topology.conf, ibnetdiscover's output, or lines GROUP: NODES.",
    ),
)  # fmt: skip

_SIM = (
    click.option(
        "--sim", metavar="PLATFORM",
        help="Simulate a cluster with SimGrid, e.g. star:32, fat-tree:64, or a platform file.",
    ),
    click.option(
        "--sim-fault", multiple=True, metavar="FAULT",
        help="A fault to plant in it, e.g. 'rate node-7 0.25'; may be repeated.",
    ),
    click.option("--sim-seed", type=click.IntRange(0), default=1, help="Decides about its noise."),
    click.option(
        "--sim-noise", type=click.FloatRange(0, 0.5), default=0.0, help="Its noise, relative.",
    ),
)  # fmt: skip


def own_lab_option(command: Decorated) -> Decorated:
    """Add ``--nodes``, of a lab made for one check."""
    return added(command, _OWN_LAB)


def fabric_options(command: Decorated) -> Decorated:
    """Add what concerns many nodes."""
    return added(command, _MANY)


def sim_options(command: Decorated) -> Decorated:
    """Add what simulates them."""
    return added(command, _SIM)


def is_fabric(options: dict[str, Any], access: "HostAccess") -> bool:
    """Whether more is asked for than one pair of ranks can do."""
    from fabricgauge.model.pattern import PAIR_PATTERNS

    if options["tool"]:
        return False
    if options["sim"] or options["ppn"] > 1 or len(_nodes(options, access)) > 2:
        return True
    named = (options["patterns"] or "").split(",")
    words = {one.partition(":")[0] for one in named} - {""}
    return bool(words & set(_all_patterns()) - set(PAIR_PATTERNS))


def fabric_wanted(options: dict[str, Any], access: "HostAccess") -> "FabricWanted":
    """What is to be measured on all nodes.

    Raises:
        UsageError: a pattern, size, time or node that is not understood.
    """
    import msgspec

    from fabricgauge.plan.fabric_plan import FabricWanted
    from fabricgauge.plan.fabric_profiles import FABRIC_PROFILES, simulated
    from fabricgauge.settings import seconds, size_bytes

    said = {"launches": options["launches"], "relative_half_width": options["half_width"]}
    changes = {key: value for key, value in said.items() if value is not None}
    if options["case_budget"] is not None:
        changes["case_s"] = (options["case_budget"], options["case_budget"])
    profile = FABRIC_PROFILES[options["profile"]]
    if options["sim"]:
        profile = simulated(profile)
    nodes = _nodes(options, access)
    sizes = options["sizes"]
    return FabricWanted(
        profile=msgspec.structs.replace(profile, **changes),
        nodes=tuple(node for node in nodes for _ in range(options["ppn"])),
        check_data=options["check_data"],
        budget_s=seconds(options["budget"]) if options["budget"] else 0.0,
        patterns=_patterns(options["patterns"]),
        sizes=tuple(map(size_bytes, sizes.split(","))) if sizes else (),
        concurrent=options["concurrent"],
        virtual=access.virtual and not options["sim"],
    )


def stated_topology(options: dict[str, Any]) -> "Topology":
    """That of the file, or of the simulated platform; an empty one where there is neither.

    Raises:
        UsageError: the file cannot be read or understood.
    """
    from fabricgauge.model.topology import Topology
    from fabricgauge.parse.topology import topology_of
    from fabricgauge.run.launchers.nodes import expand

    path: Path | None = options["topology"]
    if path is None:
        return Topology()
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    return topology_of(text, str(path), expand)


def simulation_of(options: dict[str, Any]) -> "Simulation | None":
    """The simulated cluster, None where a real or virtual one is measured.

    Raises:
        UsageError: no such platform, or a fault that it cannot have.
    """
    if not options["sim"]:
        if options["sim_fault"]:
            raise UsageError("--sim-fault plants into a simulated cluster; name one with --sim")
        return None
    if options["topology"]:
        raise UsageError("--sim knows its platform's topology; leave --topology out")
    from fabricgauge.sim.simulation import simulation

    return simulation(
        options["sim"], options["sim_fault"], seed=options["sim_seed"], noise=options["sim_noise"]
    )


def _nodes(options: dict[str, Any], access: "HostAccess") -> tuple[str, ...]:
    """Those of --place in that order, or all."""
    if not options["place"]:
        return access.nodes
    nodes = tuple(options["place"].split(","))
    for node in nodes:
        if node not in access.nodes:
            raise UsageError(f"{node!r} is none of the nodes: {', '.join(access.nodes[:8])}")
    return nodes


def _patterns(said: str | None) -> tuple[Any, ...]:
    if not said:
        return ()
    named = tuple(said.split(","))
    known = _all_patterns()
    for one in named:
        if one not in known:
            raise UsageError(f"no pattern {one!r}; there is {', '.join(known)}")
    return named


def _all_patterns() -> tuple[str, ...]:
    from fabricgauge.plan.fabric_plan import ALL_PATTERNS

    return ALL_PATTERNS
