"""Help pages as text that needs no other module: the overview, and the pages of the verbs.

Importing click takes three times as long as starting Python. Completion, packaging checks and
users in doubt ask for these pages most often. scripts/write-cli-reference writes the file of the
verbs' pages from their own help texts; a test compares them.
"""

import contextlib
import os
import sys
from collections.abc import Sequence

from fabricgauge.model.features import FEATURES

#: Settings of each verb. Without them a verb that is called without its group has no ``-h``, and
#: keeps that: click makes the help option once.
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

#: Verbs in the order of the page; those of other features follow.
_ORDER = (
    "check", "demo", "submit", "collect", "import", "references", "compare", "profile", "scale",
    "path", "runs", "report", "history", "explain", "discover", "doctor", "health", "configure",
    "lab", "engine", "help",
)  # fmt: skip

# fmt: off
_CORE: dict[str, tuple[str, str]] = {
    "check": ("cli.check:check", "Measure a network, prove the path, judge it and report."),
    "import": ("cli.import_:import_",
               "Judge results of other suites: OSU, IMB, perftest, iperf3, ..."),
    "compare": ("cli.compare:compare",
                "Compare B with A: runs, other suites' logs, published results."),
    "runs": ("cli.runs:runs", "List stored runs: kind, date, nodes, verdict."),
    "report": ("cli.report:report", "Show a stored run, judged by today's rules."),
    "discover": ("cli.discover:discover", "Show nodes, interfaces, networks and their ceilings."),
    "doctor": ("cli.doctor:doctor",
               "Find faults of nodes and networks, with evidence and remedy."),
    "lab": ("cli.lab:lab", "A virtual cluster on this machine: up, exec, list, down, faults."),
    "engine": ("cli.engine:engine", "Build and list the measuring program."),
    "help": ("cli.verbs:help_", "Show this page, or the page of a verb."),
}
# fmt: on

_ALL = _CORE | {
    verb: (f"features.{feature.find_verb(verb)}", text)
    for feature in FEATURES
    for verb, text in feature.verbs.items()
}
#: verb: (place of its command, its line of help). Verbs of features stand in their rows.
VERBS = {verb: _ALL[verb] for verb in (*_ORDER, *_ALL)}

_PAGE = """\
Usage: fabricgauge [OPTIONS] COMMAND [ARGS]...

  A go/no-go gauge for cluster interconnects.

  Exit status: 0 pass, 1 at least one FAIL, 2 usage, 3 nothing decided, 130
  interrupted.

Options:
  -V, --version  Show the version and exit.
  -h, --help     Show this message and exit.

Verbs:
{verbs}

First: fabricgauge demo, or fabricgauge import guide-40gbe-imb-pingpong"""

#: Columns of the pages, and of the narrowest terminal that the overview is broken for.
COLUMNS, _LEAST_COLUMNS = 80, 40
#: The file of the verbs' pages. pathlib takes 5 ms to load.
PAGES = f"{os.path.dirname(os.path.abspath(__file__))}/help_pages.txt"  # noqa: PTH100, PTH120


def terminal_columns(usual: int = COLUMNS) -> int:
    """Return the columns of the terminal, ``usual`` if there is none; ``shutil`` loads slowly."""
    with contextlib.suppress(ValueError):
        if (columns := int(os.environ.get("COLUMNS", ""))) > 0:
            return columns
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(sys.stdout.fileno()).columns or usual
    return usual


def overview(columns: int = COLUMNS) -> str:
    """Return the page of ``fabricgauge --help``, at most 80 columns wide."""
    width = max(map(len, VERBS))
    rows = (f"  {verb:{width}}  {text}" for verb, (_, text) in VERBS.items())
    page = _PAGE.format(verbs="\n".join(rows))
    if columns >= COLUMNS:
        return page
    import textwrap

    # A broken line goes on below the text of its first line, behind the last wide gap.
    width, lines = max(columns, _LEAST_COLUMNS), page.splitlines()
    indents = [" " * (line.rfind("  ") + 2 if "  " in line else 0) for line in lines]
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=indent) if line else line
        for line, indent in zip(lines, indents, strict=True)
    )


def help_text(words: Sequence[str], columns: int) -> str | None:
    """Return the help of ``fabricgauge WORDS``; None if click has to write it.

    Click breaks lines for a narrow terminal, and shows the defaults of configuration files.
    """
    if words[-1:] not in (["--help"], ["-h"]) or columns < COLUMNS or _has_settings():
        return None
    head = f"\n## fabricgauge {' '.join(words[:-1])}\n\n```text\n"
    try:
        with open(PAGES, encoding="utf-8") as file:  # noqa: PTH123
            _, heading, page = file.read().partition(head)
    except (OSError, UnicodeDecodeError):
        return None
    return f"{page.partition(chr(10) + '```')[0]}\n" if heading else None


def _has_settings() -> bool:
    """Check whether a configuration file may change defaults; see ``store.settings``."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    files = ("/etc/fabricgauge/config.toml", f"{home}/fabricgauge/config.toml")
    named = "FABRICGAUGE_SITE_FILE" in os.environ
    return named or any(map(os.path.exists, files))
