"""``fabricgauge doctor``: find faults of nodes and networks before a measurement."""

import sys
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed, list_parser
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_answer, print_report, refuse_report_file, write_files
from fabricgauge.model.request import keep_applicable
from fabricgauge.model.verdict import exit_status
from fabricgauge.store import settings

if TYPE_CHECKING:
    from fabricgauge.model.finding import Diagnosis

#: Long enough to distinguish a rising counter from a single stray frame.
SECONDS = 2.0

_CHECKS = Parsed("list", list_parser(str.strip))


@click.command(context_settings=HELP_OPTIONS)
@cli_options.nodes_argument
@cli_options.node_options
@cli_options.ssh_config_option
@cli_options.bundle_option
@click.option("--network", "networks", multiple=True, metavar="NAME|SUBNET",
              help="Check only this network. May be repeated. Default: all.")  # fmt: skip
@click.option("--head", is_flag=True,
              help="Also check the head, where MPI's launcher starts.")  # fmt: skip
@click.option("--only", type=_CHECKS, default="", metavar="CHECK,…", help="Run only these checks.")
@click.option("--skip", type=_CHECKS, default="", metavar="CHECK,…", help="Skip these checks.")
@click.option("--list", "show", is_flag=True, help="Show all checks and exit.")
@click.option("--seconds", type=click.FloatRange(1, 300), default=SECONDS, show_default=True,
              metavar="S", help="Time to watch the counters, in seconds.")  # fmt: skip
@cli_options.format_option("preflight")
@cli_options.for_option
@cli_options.to_option
@cli_options.output_file_option
@cli_options.quiet_option("Print only the findings, no progress.")
@cli_options.verbose_option
@click.pass_context
def doctor(ctx: click.Context, /, **options: Any) -> None:
    """Find faults of NODES and their networks, with evidence, reason and remedy.

    NODES are the same as -w: c1 c2, or 'c[1-16]'.

    Reads the hardware and settings of the nodes, lets them ping each other over each network and
    look up each other's names, and watches their counters. Changes nothing.

    Also runs a small compiled program on each node, which listens on a TCP port and sends 64 KiB
    each way. A node that does not share the cache directory gets a copy in /tmp or the home, which
    is removed at the end.

    Exit status: 0 without a FAIL, 1 with a FAIL, 3 if nothing could be checked.
    """
    if options["show"]:
        refuse_report_file("--list")
        click.echo(_table())
        return
    from fabricgauge.doctor.examining import choose_checks
    from fabricgauge.report.content.monitoring import answer_preflight, find_outcome

    cli_options.refuse_unwritten_report(ctx)
    checks = choose_checks(options["only"], options["skip"])
    if options["bundle"]:
        effective = (
            "bundle", "networks", "only", "skip", "format", "form", "to", "output", "quiet",
            "verbose",
        )  # fmt: skip
        cli_options.refuse_without_effect(ctx, effective, cli_options.BUNDLE_CONFLICT)
    diagnosis = _run_checks(options, checks)
    form, outcome = options["form"], find_outcome(diagnosis)
    if form != "plain":
        write_files("preflight", diagnosis, options["format"], options["to"])
        ctx.exit(print_answer(form, outcome, answer_preflight(diagnosis, form)))
    print_report("preflight", diagnosis, options["format"], options["to"])
    ctx.exit(exit_status(outcome))


def _run_checks(options: dict[str, Any], checks: tuple[str, ...]) -> "Diagnosis":
    from fabricgauge.check.target import reach_hosts
    from fabricgauge.doctor.doctor import diagnose, diagnose_bundle
    from fabricgauge.lab.host_access import head_name

    request, declared = cli_options.build_request(options), settings.load().networks
    if options["bundle"]:
        return diagnose_bundle(options["bundle"], declared, options["networks"], checks)
    watched = sys.stderr.isatty() and not options["quiet"]
    with reach_hosts(keep_applicable(request)) as (access, lab_networks):
        return diagnose(
            access, (*lab_networks, *declared), checks,
            lambda text: click.echo(text, err=True) if watched else None,
            networks=options["networks"], seconds=options["seconds"],
            head=head_name(access) if options["head"] else "",
        )  # fmt: skip


def _table() -> str:
    from fabricgauge.doctor.checks import load_checks

    checks = load_checks()
    width = max(len(check.id) for check in checks)
    return "\n".join(f"{check.id:{width}}  {check.title}" for check in checks)
