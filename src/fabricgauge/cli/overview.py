"""The first page of help, as text that needs no other module.

Importing click costs three times as much as starting Python, and this page is what
completion, packaging checks and people in doubt ask for most.
"""

#: verb: (module, what it does)
VERBS: dict[str, tuple[str, str]] = {
    "check": ("check", "Measure a network, prove the path, judge it and report."),
    "submit": ("submit", "The same by Slurm: write a job, submit it, wait, judge."),
    "collect": ("collect", "Judge what the job of an earlier submit has left."),
    "import": ("import_", "Judge what other suites measured: OSU, IMB, perftest, iperf3, ..."),
    "compare": ("compare", "Compare B with A: runs, other suites' logs, published results."),
    "profile": ("profile", "Run an application and show what it sends by MPI."),
    "scale": ("scale", "Launch an application on 1, 2, 4, … nodes: speed-up, path proof."),
    "path": ("path", "Count what one MPI call executes; say what differs between two."),
    "report": ("report", "Show a stored run, judged again."),
    "discover": ("discover", "Show nodes, interfaces, networks and their ceilings."),
    "doctor": ("doctor", "Find what is wrong with them, with evidence and remedy."),
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
    """What ``fabricgauge --help`` prints, at most 80 columns wide."""
    width = max(map(len, VERBS))
    rows = (f"  {verb:{width}}  {text}" for verb, (_, text) in VERBS.items())
    return _PAGE.format(verbs="\n".join(rows))
