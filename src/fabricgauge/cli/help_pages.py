"""Find the help text of a verb in the file that ships, without loading click and the verb.

scripts/write-cli-reference writes the file from the verbs' own help texts; a test compares them.
"""

import os
from collections.abc import Sequence

#: The file of all help texts. pathlib takes 5 ms to load.
PAGES = f"{os.path.dirname(os.path.abspath(__file__))}/help_pages.txt"  # noqa: PTH100, PTH120
#: Columns of the texts in the file.
COLUMNS = 80


def help_text(words: Sequence[str], columns: int) -> str | None:
    """Return the help of ``fabricgauge WORDS``; None if click has to write it.

    Click breaks lines for a narrow terminal, and shows the defaults of configuration files.
    """
    if words[-1:] not in (["--help"], ["-h"]) or columns < COLUMNS or _has_settings():
        return None
    head = f"\n## fabricgauge {' '.join(words[:-1])}\n\n```text\n"
    try:
        with open(PAGES, encoding="utf-8") as file:  # noqa: PTH123
            _, found, rest = file.read().partition(head)
    except (OSError, UnicodeDecodeError):
        return None
    return f"{rest.partition(chr(10) + '```')[0]}\n" if found else None


def _has_settings() -> bool:
    """Check whether a configuration file may change defaults; see ``store.settings``."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    files = ("/etc/fabricgauge/config.toml", f"{home}/fabricgauge/config.toml")
    named = "FABRICGAUGE_SITE_FILE" in os.environ
    return named or any(map(os.path.exists, files))
