"""The second half of the way: what was read is judged and reported in every format."""

import traceback
from collections.abc import Iterator, Sequence
from random import Random

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.logs.readers.suites import Found
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Launch, Run
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.report.content import run
from fabricgauge.report.formats import formats_of, report

NETWORKS = (
    "1GbE", "25GbE mtu=9000", "100GbE roce-v2 mtu=4096", "10GbE iwarp", "edr", "ndr", "opa100",
    "slingshot-11", "efa-100", "nvlink4", "pcie 4.0 x16", "",
)  # fmt: skip


def run_of(found: Sequence[Found], network: str) -> Run:
    """A run in memory like that which importing writes."""
    networks = (stated_network(network),) if network else ()
    launch = Launch(
        number=1, network=networks[0].name if networks else None, nodes=(), header=None,
        placements=(), measurements=(), ended=Ended(IMPORTED, 0, "", ("log",), 0.0),
        curves=tuple(one for one in found if isinstance(one, SuiteCurve)),
        unparsed=tuple(one for one in found if isinstance(one, UnparsedLine)),
    )  # fmt: skip
    return Run(
        identity="fuzz", started_utc="2026-01-01T00:00:00Z", command=("fabricgauge", "import"),
        environment={}, fabric=Fabric((), (), networks),
        plan=Plan("import", Stopping(0.0, 0.0), False, (), tool="import"),
        launches=(launch,), complete=True,
    )  # fmt: skip


def complaints(found: Sequence[Found], random: Random) -> Iterator[str]:
    """What is wrong with the judging and the reports of one reading."""
    network = random.choice(NETWORKS)
    try:
        judged = conclude(run_of(found, network), DEFAULTS)
    except Exception as error:
        yield f"judging breaks on {network!r}: {_told(error)}"
        return
    for verdict in judged.verdicts:
        if "could not be applied" in verdict.summary:
            yield f"rule {verdict.rule} on {network!r}: {verdict.summary[:200]}"
    for name in formats_of(run.KIND):
        try:
            report(judged, name).encode()
        except Exception as error:
            yield f"report {name} of {network!r}: {_told(error)}"


def _told(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
    return f"{type(error).__name__}: {str(error)[:150]} at {place}"
