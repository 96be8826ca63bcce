"""Answer a mistyped verb or option with the name that does what its word means elsewhere.

Similar letters are no reason: ``--hosts`` looks like ``--streams`` and means ``-w``. So the words
of other tools come first, then names that differ by a typing error.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import click

#: Share of equal letters from which a word is a typing error of another: --profiel, --lanches.
_TYPING_ERROR = 0.75

#: Words for a verb. Sources: the verbs of git, pip, kubectl, Slurm, ibdiagnet and systemctl.
VERB_WORDS: dict[str, str] = {
    "run": "check", "test": "check", "bench": "check", "benchmark": "check", "measure": "check",
    "verify": "check", "gauge": "check", "start": "check", "validate": "check",
    "sbatch": "submit", "job": "submit", "queue": "submit", "batch": "submit",
    "wait": "collect", "results": "collect", "fetch": "collect",
    "read": "import", "parse": "import", "judge": "import", "load": "import", "analyze": "import",
    "analyse": "import",
    "diff": "compare", "ab": "compare", "versus": "compare", "vary": "compare --vary",
    "list": "runs", "ls": "runs", "log": "runs", "show": "report", "view": "report",
    "print": "report", "html": "report --format html",
    "nodes": "discover", "scan": "discover", "info": "discover", "inventory": "discover",
    "survey": "discover", "topology": "discover",
    "diagnose": "doctor", "preflight": "doctor", "status": "lab status", "lint": "doctor",
    "config": "configure", "setup": "configure", "fix": "configure", "apply": "configure",
    "build": "engine build", "compile": "engine build", "up": "lab up", "down": "lab down",
    "exec": "lab exec", "fault": "lab fault", "heal": "lab heal",
    "trace": "path", "strace": "path", "why": "explain", "rule": "explain", "rules": "explain",
    "glossary": "explain", "man": "help", "usage": "help", "version": "-V", "tutorial": "demo",
    "example": "demo", "try": "demo", "quickstart": "demo",
}  # fmt: skip

#: Words for a verb of ``lab``. Sources: the verbs of ip-netns, docker, vagrant and containerlab.
LAB_WORDS: dict[str, str] = {
    "create": "up", "start": "up", "new": "up", "add": "up", "make": "up", "deploy": "up",
    "delete": "down", "stop": "down", "destroy": "down", "remove": "down", "rm": "down",
    "del": "down", "ls": "list", "show": "status", "ps": "status", "inspect": "status",
    "run": "exec", "ssh": "exec", "shell": "exec", "enter": "exec", "break": "fault",
    "inject": "fault", "repair": "heal", "mend": "heal", "fix": "heal",
}  # fmt: skip

#: Words for an option, with what to write instead; a verb gets the first that it has. Sources: the
#: manuals of ClusterShell, pdsh, srun, mpirun, mpiexec, iperf3, OSU, IMB, perftest and ping.
OPTION_WORDS: dict[str, tuple[str, ...]] = {
    word: hints
    for words, hints in (
        (("--hosts", "--host", "--nodes", "--node", "--hostlist", "--node-list", "--servers",
          "--machines", "-H", "--targets"), ("-w NODES", "--from DIR")),
        (("--hostfile", "--machinefile", "--nodefile", "--host-file", "-f"), ("-w ^FILE",)),
        (("--exclude-nodes", "--skip-nodes", "--without"), ("-x NODES",)),
        (("--timeout", "--duration", "--time-limit", "--max-time", "--time", "--seconds", "-t",
          "--runtime"), ("--budget TIME", "--timeout SECONDS", "--seconds S", "--limit TIME",
                         "--silent TIME")),
        (("--interface", "--iface", "--dev", "--nic", "--subnet", "--net", "--networks", "--port",
          "-i", "-I"), ("--network NAME",)),
        (("--size", "--message-size", "--msg-size", "--bytes", "--length", "-s", "-m"),
         ("--sizes LIST",)),
        (("--iterations", "--iters", "--iter", "--repeat", "--repetitions", "--samples", "--runs",
          "--count", "-c", "-n"), ("--launches N", "--repeats N", "--last N")),
        (("--np", "--ntasks-per-node", "--tasks-per-node", "--ranks", "--ranks-per-node",
          "--npernode"), ("--ppn N",)),
        (("--pattern", "--tests", "--test", "--benchmark", "--benchmarks", "--operation"),
         ("--patterns LIST", "--calls LIST", "--only CHECK,…")),
        (("--streams", "-P", "--connections"), ("--parallel N",)),
        (("--json",), ("--format json", "--json")),
        (("--csv",), ("--format csv",)),
        (("--html",), ("-o FILE.html",)),
        (("--junit", "--xml"), ("--format junit",)),
        (("--markdown", "--md"), ("--format markdown",)),
        (("--out", "--outdir", "--output-dir", "--output-file", "--save", "--out-file", "--dir"),
         ("-o", "--to FILE")),
        (("--provider", "--libfabric", "--ofi"), ("--transport ofi:provider=NAME",)),
        (("--verbs", "--rdma", "--ib", "--roce"), ("--transport verbs", "--rdma roce")),
        (("--sockets", "--tcp"), ("--transport sockets",)),
        (("--suite", "--osu", "--imb", "--iperf3", "--nccl", "--perftest"), ("--tool SUITE",)),
        (("--gpu", "--cuda", "--device-memory"), ("--memory cuda",)),
        (("--hip", "--rocm"), ("--memory hip",)),
        (("--mpirun", "--mpiexec", "--mpicc", "--mpicxx", "--mpi-home"), ("--mpi NAME|MPICXX",)),
        (("--ssh", "--srun", "--slurm", "--rsh", "--bootstrap"), ("--launcher NAME",)),
        (("--quick", "--fast", "--full", "--standard", "--mode", "--level"),
         ("--profile quick|standard|full",)),
        (("--verify", "--validate", "--check", "--crc", "--validation"), ("--check-data",)),
        (("--buffer-num", "--buffer", "-b"), ("--buffers KIND",)),
        (("--confidence", "--precision", "--accuracy"), ("--half-width SHARE",)),
        (("--baseline", "--reference", "--ref", "--compare"), ("--against NAME",)),
        (("--strict", "--werror", "--fail-on-warn", "--exit-code"), ("--fail-on warn",)),
        (("--simulate", "--simulation", "--simgrid"), ("--sim PLATFORM",)),
        (("--fault", "--faults"), ("--sim-fault FAULT",)),
        (("--dryrun", "--plan", "--noop", "--check-only", "--just-print"), ("--dry-run",)),
        (("--continue", "--restart", "--retry"), ("--resume RUN",)),
        (("--silent", "--no-progress"), ("-q",)),
        (("--debug", "--details", "--all", "--long", "-a", "-l"), ("-v", "--all", "--last 0")),
        (("--bundle", "--input", "--offline"), ("--from DIR",)),
        (("--queue",), ("-p NAME",)),
        (("--walltime",), ("-t TIME", "--budget TIME")),
        (("--fabric", "--link"), ("--network TEXT", "--network NAME")),
        (("--yes", "--force", "--do-it"), ("--apply", "--force")),
        (("--rollback", "--revert"), ("--undo JOURNAL",)),
    )
    for word in words
}  # fmt: skip


class VerbGroup(click.Group):
    """A group that answers an unknown verb or option with the meant one; ``words`` mean verbs."""

    words: dict[str, str] = {}  # noqa: RUF012 -- a table of the class

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(unknown_verb(name, self.list_commands(ctx), self.words, ctx.command_path))
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise unknown_option(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise unknown_option(error) from None


class LabGroup(VerbGroup):
    """The verbs of ``lab``."""

    words = LAB_WORDS


def unknown_verb(name: str, verbs: Iterable[str], words: dict[str, str], path: str) -> str:
    """Return the message on an unknown verb, with the verb that its word means."""
    meant = words.get(name.lower()) or next(iter(_typing_errors(name, verbs)), "")
    hint = f"did you mean '{path} {meant}'?" if meant else f"see '{path} --help'"
    return f"no verb {name!r}; {hint}"


def unknown_option(error: click.NoSuchOption) -> click.UsageError:
    """Return the error with the options that the word means, or that it resembles."""
    if error.ctx is None:
        return error
    path, command = error.ctx.command_path, error.ctx.command
    hints = tuple(meant_options(error.option_name, command))
    if error.option_name == "-v" and isinstance(command, click.Group):
        hint = f"-V is the version; -v belongs to a verb, e.g. '{path} check -v'"
    elif hints:
        hint = f"did you mean {' or '.join(hints)}?"
    else:
        hint = f"see '{path} --help'"
    return click.UsageError(f"{path} has no option {error.option_name}; {hint}", error.ctx)


def meant_options(word: str, command: click.Command) -> Iterator[str]:
    """Yield the option that a word means to users of other tools, else up to two similar ones."""
    existing = {name for parameter in command.params for name in parameter.opts}
    for hint in OPTION_WORDS.get(word, ()):
        if hint.split()[0] in existing and hint.split()[0] != word:
            yield hint
            return
    shown = [
        name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in parameter.opts
        if name.startswith("--")
    ]
    yield from _typing_errors(word, shown)


def _typing_errors(word: str, names: Iterable[str]) -> list[str]:
    """Return up to two names of which ``word`` can be a typing error or a beginning."""
    candidates = list(names)
    from difflib import get_close_matches  # only a mistake loads it

    longer = [name for name in candidates if len(word) > 3 and name.startswith(word)]
    return longer[:2] or get_close_matches(word, candidates, n=2, cutoff=_TYPING_ERROR)
