"""Parts of a page as text for a terminal of a given width."""

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

from fabricgauge.report.interface import Setting


def printed(parts: Iterable[RenderableType], setting: Setting) -> str:
    """Plain text unless the setting asks for colour; no line ends in blanks."""
    page = io.StringIO()
    console = Console(
        file=page, width=setting.width, force_terminal=setting.colour, no_color=not setting.colour,
        color_system="standard" if setting.colour else None,
        markup=False, highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"
