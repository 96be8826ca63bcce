"""``fabricgauge doctor``: what is wrong with the network, before anything is measured."""

import sys
from typing import TYPE_CHECKING, Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.show import print_report
from fabricgauge.model.request import applicable

if TYPE_CHECKING:
    from fabricgauge.model.finding import Diagnosis

#: Long enough to tell a counter that rises from a frame that came by chance.
SECONDS = 2.0

_CHECKS = of.Parsed("list", of.listed(str.strip))


@click.command()
@of.nodelist_option
@of.exclude_option
@of.lab_option("A lab's nodes.")
@of.launcher_option
@of.ssh_config_option
@of.bundle_option
@click.option("--network", "networks", multiple=True, metavar="NAME|SUBNET",
              help="Try these networks alone. May be repeated.  [default: all]")  # fmt: skip
@click.option("--head", is_flag=True,
              help="Examine the machine where MPI's launcher is started, too.")  # fmt: skip
@click.option("--only", type=_CHECKS, default="", metavar="CHECK,…", help="These checks alone.")
@click.option("--skip", type=_CHECKS, default="", metavar="CHECK,…", help="All checks but these.")
@click.option("--list", "show", is_flag=True, help="Show the checks.")
@click.option("--seconds", type=click.FloatRange(1, 300), default=SECONDS, show_default=True,
              help="How long to watch the counters.")  # fmt: skip
@of.format_option("preflight")
@of.to_option
@of.quiet_option("Print the findings only, no progress.")
@click.pass_context
def doctor(ctx: click.Context, /, **options: Any) -> None:
    """Say what is wrong with nodes and networks, with evidence, reason and remedy.

    Asks the nodes what they have, lets them ping each other over each network and look up
    each other's names, and watches their counters. Changes nothing.

    Also runs a small compiled program on each node: it listens on a TCP port and sends 64 KiB
    each way. The nodes must share the cache directory, where it is; else connect cannot look.

    Exit status: 0 without a FAIL, 1 with one, 3 if nothing could be checked.
    """
    from fabricgauge.doctor.examining import choose_checks

    if options["show"]:
        click.echo(_table())
        return
    checks = choose_checks(options["only"], options["skip"])
    if options["bundle"]:
        heeded = ("bundle", "networks", "only", "skip", "format", "to", "quiet")
        of.require_heeded(ctx, heeded, of.OF_BUNDLE)
    found = _diagnosed(options, checks)
    print_report("preflight", found, options["format"], options["to"])
    ctx.exit(exit_status(found))


def exit_status(found: "Diagnosis") -> int:
    """1 for a FAIL; 3 where no check could look, or no node answered."""
    if not found.nodes or all(one.skipped for one in found.checked):
        return 3
    return int(any(finding.severity.value == "FAIL" for finding in found.findings))


def _diagnosed(options: dict[str, Any], checks: tuple[str, ...]) -> "Diagnosis":
    from fabricgauge.app.doctor import DoctorRequest, diagnose, diagnose_bundle, head_of
    from fabricgauge.app.target import reached

    request, declared = of.request_of(options), settings.load().networks
    if options["bundle"]:
        return diagnose_bundle(options["bundle"], declared, options["networks"], checks)
    told = sys.stderr.isatty() and not options["quiet"]
    with reached(applicable(request)) as (access, known):
        head = head_of(access) if options["head"] else ""
        networks, seconds = options["networks"], options["seconds"]
        asked = DoctorRequest(access, (*known, *declared), networks, checks, seconds, head)
        return diagnose(asked, lambda text: click.echo(text, err=True) if told else None)


def _table() -> str:
    from fabricgauge.doctor.checks import CHECKS

    width = max(len(check.id) for check in CHECKS)
    return "\n".join(f"{check.id:{width}}  {check.title}" for check in CHECKS)
