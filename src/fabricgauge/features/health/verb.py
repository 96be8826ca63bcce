"""``fabricgauge health``: check one node for a scheduler or a monitor, in seconds."""

from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import click

from fabricgauge import __version__
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import deliver
from fabricgauge.features.health.expectations import (
    Expectations,
    Part,
    Values,
    read_expectations,
    write_expectations,
)
from fabricgauge.features.health.script import ScriptSettings, write_script
from fabricgauge.model.answer import FORMS
from fabricgauge.model.errors import CannotRun, ProbeError, UsageError
from fabricgauge.model.request import keep_applicable
from fabricgauge.nodes import process
from fabricgauge.report.visible import visible
from fabricgauge.store.files.ownership import place
from fabricgauge.store.files.reading import read_text
from fabricgauge.store.run_directory import now_utc
from fabricgauge.store.settings import SITE_FILE

#: Nodes answer in well under a second; ssh's own limit is 5 s.
TIMEOUT_S = 20.0
#: The script ends itself; this is for a shell that does not run it.
MARGIN_S = 10.0

#: Actions beside the check itself, and the options that each one heeds.
_NODES = ("nodelist", "exclude", "lab", "launcher", "ssh_config")
_SCRIPT = ("expect", "form", "state", "textfile", "limit")
_ACTIONS = {
    "learn": ("learn", *_NODES, "to"),
    "script": ("script", *_SCRIPT, "drain", "to"),
    "alerts": ("alerts", "to"),
    "dashboard": ("dashboard", "to"),
}
_CHECK = (*_SCRIPT, "quiet")

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command(context_settings=HELP_OPTIONS)
@click.option("--expect", type=_PATH, metavar="FILE",
              help="What nodes should have, as --learn writes it. Default:"
              " ~/.config/fabricgauge/health.toml, else /etc/fabricgauge/health.toml.")  # fmt: skip
@click.option("--for", "form", type=click.Choice(FORMS), default="plain", show_default=True,
              help="Who asks: decides exit status and output; npd is node-problem-detector."
              )  # fmt: skip
@click.option("--state", type=_PATH, metavar="FILE",
              help="File with the counters of the last check. Default: health.NODE in"
              " /var/lib/fabricgauge, or in ~/.local/state/fabricgauge.")  # fmt: skip
@click.option("--textfile", type=_PATH, metavar="FILE.prom",
              help="Write metrics for the textfile collector of node exporter.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1, 50), default=4, show_default=True, metavar="S",
              help="Time limit of the check in seconds.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Print nothing for a pass.")
@click.option("--script", is_flag=True,
              help="Write the check as one POSIX script, which needs no fabricgauge on the nodes."
              )  # fmt: skip
@click.option("--drain", is_flag=True, allow_from_autoenv=False,
              help="With --script: drain a node that fails, and resume it when it is well again, by"
              " scontrol. HealthCheckProgram needs it; a Prolog does not.")  # fmt: skip
@click.option("--learn", is_flag=True, help="Write what the nodes have, for review.")
@cli_options.nodelist_option("this machine, or all nodes of the lab or Slurm job")
@cli_options.exclude_option
@cli_options.lab_option("With --learn: nodes of the lab NAME.")
@cli_options.launcher_option
@cli_options.ssh_config_option
@click.option("--alerts", is_flag=True, help="Write alert rules for Prometheus.")
@click.option("--dashboard", is_flag=True, help="Write a dashboard for Grafana.")
@cli_options.to_option
@click.pass_context
def health(ctx: click.Context, /, **options: Any) -> None:
    """Check the links, adapters, GPUs and error counters of this node, passively.

    Compares the node with a file of expectations, and its counters with those of the last check.
    Needs a shell and coreutils, no privilege, no network traffic and no controller. Ends within
    --limit. Only what is certainly broken is a failure: if two sources disagree, it is reported and
    drains no node.

    \b
    1. fabricgauge health --learn -w c[1-100] --to health.toml    review the file
    2. fabricgauge health --script --expect health.toml --for slurm --drain
       --to health.sh
    3. HealthCheckProgram=/path/of/health.sh in slurm.conf; its status alone drains no node

    Exit status: by --for; plain: 0 passed or warned, 1 failed, 3 nothing decided.
    """
    action = next((name for name in _ACTIONS if options[name]), "")
    effective = _ACTIONS[action] if action else _CHECK
    reason = "{} has no effect on a check; --learn takes nodes, --script takes --drain"
    if action:
        reason = f"{{}} has no effect with --{action}"
    cli_options.refuse_without_effect(ctx, effective, reason)
    if action == "learn":
        ctx.exit(_learn(options))
    if action in ("alerts", "dashboard"):
        file = {"alerts": "alerts.yml", "dashboard": "dashboard.json"}[action]
        folder = resources.files(__package__).joinpath("monitoring")
        deliver(folder.joinpath(file).read_text("utf-8"), options["to"])
        return
    expectations = _load_expectations(options["expect"])
    state, textfile = (
        str(options[name].absolute()) if options[name] else "" for name in ("state", "textfile")
    )
    settings = ScriptSettings(options["form"], options["drain"], state, textfile, options["limit"])
    if action == "script":
        deliver(write_script(expectations, settings), options["to"])
        if options["to"] is not None:
            options["to"].chmod(0o755)
        return
    ctx.exit(_check(expectations, settings, options["quiet"]))


def _load_expectations(stated: Path | None) -> Expectations | None:
    """Return the expectations of the file; None if no file was stated and no default exists."""
    places = (place("XDG_CONFIG_HOME") / "health.toml", SITE_FILE.with_name("health.toml"))
    path = stated or next((path for path in places if path.exists()), None)
    if path is None:
        return None
    try:
        return read_expectations(read_text(path), str(path))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', '') or error}"
        ) from error


def _check(expectations: Expectations | None, settings: ScriptSettings, quiet: bool) -> int:
    completed = process.run(
        ["sh", "-s", "--", *(["--quiet"] if quiet else [])],
        stdin=write_script(expectations, settings), timeout_s=settings.limit_s + MARGIN_S,
    )  # fmt: skip
    if completed.timed_out:
        raise CannotRun(f"sh did not end within {settings.limit_s + MARGIN_S:g} s")
    click.echo(completed.stderr, err=True, nl=False)
    click.echo(completed.stdout, nl=False)
    return completed.exit_code


def _learn(options: dict[str, Any]) -> int:
    """Write the expectations of all nodes that answer; return 3 if one did not."""
    from fabricgauge.check.target import reach_hosts
    from fabricgauge.features.health.learn import learn_expectations, parse_facts
    from fabricgauge.nodes.discover.probe import ask_nodes

    facts: dict[str, dict[Part, Values]] = {}
    troubles: list[str] = []
    request = keep_applicable(cli_options.build_request(options))
    with reach_hosts(request) as (access, _):
        words = dict.fromkeys(access.nodes, ("--facts",))
        text = write_script(None, ScriptSettings())
        with closing(ask_nodes(access.hosts, TIMEOUT_S, words=words, text=text)) as answers:
            for answer in answers:
                try:
                    if answer.trouble:
                        raise ProbeError(answer.trouble)
                    facts[answer.node] = parse_facts(answer.node, answer.raw)
                except ProbeError as error:
                    troubles.append(str(error))
    if not facts:
        raise CannotRun("; ".join(troubles) or "no node to learn from")
    expectations = learn_expectations({node: facts[node] for node in sorted(facts)})
    head = (
        f"What nodes should have, learned by fabricgauge {__version__} at {now_utc()}.",
        "Review it and keep it under version control. Lines that do not matter may be deleted.",
        *(f"NOT LEARNED: {trouble}" for trouble in troubles),
    )
    deliver(write_expectations(expectations, head), options["to"])
    for line in (*troubles, *(line for row in expectations.classes for line in row.remarks)):
        click.echo(visible(line), err=True)
    return 3 if troubles else 0
