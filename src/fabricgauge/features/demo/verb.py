"""``fabricgauge demo``: a healthy network passes, a planted fault is named; all in a minute."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from fabricgauge.check.begin import open_run
from fabricgauge.check.main_job import measure_and_judge
from fabricgauge.check.target import StatedRequest
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.lab import parse_fault
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.progress import progress_shown
from fabricgauge.cli.show import deliver, make_setting, report_file, width, write_report_file
from fabricgauge.lab.faults import inject
from fabricgauge.lab.spec import LabSpec, numbered_nodes
from fabricgauge.lab.state import LabState
from fabricgauge.lab.up import down, up
from fabricgauge.model.judged import Judged
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.content import run as content
from fabricgauge.report.content.verdicts import to_do
from fabricgauge.report.render import terminal
from fabricgauge.store import settings

#: Latency of small messages, and the link's rate.
PATTERNS, SIZES = ("latency", "bandwidth"), (8, 64 << 10, 1 << 20)
#: The planted fault, in the words of ``lab fault``: a cable with a bad pair of wires.
FAULT = ("rate", "c2", "net1", "100M")


@click.command(context_settings=HELP_OPTIONS)
@cli_options.output_option()
@cli_options.quiet_option("Print no progress.")
@click.pass_context
def demo(ctx: click.Context, /, output: Path | None, quiet: bool) -> None:
    """Show on a virtual network of this machine: a PASS, a fault, the FAIL that names it.

    Brings a lab of two nodes up, measures it, slows the link of one node down, measures again, and
    removes the lab. Both runs are kept, each with a page for a browser.

    Exit status: 0 if the fault was found; 3 if not, e.g. since other programs keep the processors
    busy.
    """
    root = output or settings.run_root()
    with _demo_lab() as state:
        _narrate("Two virtual nodes, c1 and c2, are joined by net1 at 1 Gb/s. Kernel TCP, MPI and"
                 " the counters of the interfaces are real. Is the network sound?")  # fmt: skip
        _show(*_check(state.name, root, quiet))
        kind, node, network, value = FAULT
        inject(state, parse_fault(kind, node, network, value))
        _narrate("Now the cable of c2 carries only 100 Mb/s, while c2 still reports 1 Gb/s. Is the"
                 " fault found?")  # fmt: skip
        broken, path = _check(state.name, root, quiet)
        _show(broken, path)
    if file := report_file():
        write_report_file("run", broken, file, run_directory=str(path))
    _narrate(
        "The lab is removed, the runs are kept. Next, on nodes of yours: fabricgauge check c1 c2"
    )
    ctx.exit(0 if finds_fault(broken) else 3)


def finds_fault(judged: Judged) -> bool:
    """Check whether a run fails the rate of net1."""
    failed = (verdict for verdict in judged.verdicts if verdict.outcome is Outcome.FAIL)
    return any(verdict.rule == "fraction" and "net1" in verdict.subject for verdict in failed)


@contextmanager
def _demo_lab() -> Iterator["LabState"]:
    name = f"demo-{os.getpid()}"
    try:
        yield up(LabSpec(name, numbered_nodes(2)))
    finally:
        down(name)


def _check(lab: str, root: Path, quiet: bool) -> tuple[Judged, Path]:
    request = MeasurementRequest(lab=lab, patterns=PATTERNS, sizes=SIZES)
    with (
        progress_shown(quiet) as progress,
        open_run(StatedRequest(request, settings.load(), progress), root) as context,
    ):
        judged, interrupted = measure_and_judge(context)
        if interrupted:
            raise KeyboardInterrupt
        return judged, context.directory.path


def _show(judged: Judged, run: Path) -> None:
    setting = make_setting(run_directory=str(run), html_file=str(run / "report.html"))
    sections = () if judged.overall is Outcome.PASS else (to_do(judged),)
    report = msgspec.structs.replace(content.document(judged, setting), sections=sections)
    deliver(terminal.render(report, setting), None)


def _narrate(text: str) -> None:
    click.echo(f"\n{click.formatting.wrap_text(text, width())}\n")
