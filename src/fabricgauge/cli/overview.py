"""The first help page, as text that needs no other module.

Importing click takes three times as long as starting Python. Completion, packaging checks and
users in doubt ask for this page most often.
"""

#: verb: (module, what it does)
VERBS: dict[str, tuple[str, str]] = {
    "check": ("check", "Measure a network, prove the path, judge it and report."),
    "submit": ("submit", "Run a check as a Slurm job: write, submit, wait, judge."),
    "collect": ("collect", "Judge the results of the jobs of an earlier submit."),
    "import": ("import_", "Judge results of other suites: OSU, IMB, perftest, iperf3, ..."),
    "compare": ("compare", "Compare B with A: runs, other suites' logs, published results."),
    "profile": ("profile", "Run an application and show its MPI messages."),
    "scale": ("scale", "Launch an application on 1, 2, 4, … nodes: speed-up, path proof."),
    "path": ("path", "Count what one MPI call executes; compare two such counts."),
    "report": ("report", "Show a stored run, judged by today's rules."),
    "discover": ("discover", "Show nodes, interfaces, networks and their ceilings."),
    "doctor": ("doctor", "Find faults of nodes and networks, with evidence and remedy."),
    "configure": ("configure", "Plan and set up the networks that a file describes."),
    "lab": ("lab", "A virtual cluster on this machine: up, exec, status, down, faults."),
    "engine": ("engine", "Build and list the measuring program."),
}

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
