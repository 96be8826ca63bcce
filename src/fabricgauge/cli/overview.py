"""The first help page, as text that needs no other module.

Importing click takes three times as long as starting Python. Completion, packaging checks and
users in doubt ask for this page most often.
"""

from fabricgauge.model.features import FEATURES

#: verb: (place of its command, its line of help). Verbs of features stand in their rows.
# fmt: off
VERBS: dict[str, tuple[str, str]] = {
    "check": ("cli.check:check", "Measure a network, prove the path, judge it and report."),
    "import": ("cli.import_:import_",
               "Judge results of other suites: OSU, IMB, perftest, iperf3, ..."),
    "compare": ("cli.compare:compare",
                "Compare B with A: runs, other suites' logs, published results."),
    "report": ("cli.report:report", "Show a stored run, judged by today's rules."),
    "discover": ("cli.discover:discover", "Show nodes, interfaces, networks and their ceilings."),
    "doctor": ("cli.doctor:doctor",
               "Find faults of nodes and networks, with evidence and remedy."),
    "lab": ("cli.lab:lab", "A virtual cluster on this machine: up, exec, status, down, faults."),
    "engine": ("cli.engine:engine", "Build and list the measuring program."),
    **{
        verb: (f"features.{place}", text)
        for feature in FEATURES
        for verb, (place, text) in feature.verbs.items()
    },
}
# fmt: on

_PAGE = """\
Usage: fabricgauge [OPTIONS] COMMAND [ARGS]...

  A go/no-go gauge for cluster interconnects.

  Exit status: 0 pass, 1 at least one FAIL, 2 usage, 3 nothing decided, 130
  interrupted.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Verbs:
{verbs}"""


def overview() -> str:
    """Return the page of ``fabricgauge --help``, at most 80 columns wide."""
    width = max(map(len, VERBS))
    rows = (f"  {verb:{width}}  {text}" for verb, (_, text) in VERBS.items())
    return _PAGE.format(verbs="\n".join(rows))
