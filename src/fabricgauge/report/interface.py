"""What this stage takes and gives: a judged run in, text out."""

from collections.abc import Callable

import msgspec

from fabricgauge.model.judged import Judged

__all__ = ["Format", "Judged", "Render", "Setting"]


class Setting(msgspec.Struct, frozen=True):
    """Where a report is to be shown, which a judged run cannot know.

    ``width`` is in columns. ``run_directory`` and ``html_file`` are paths to mention;
    empty when there is nothing to mention. ``pattern`` narrows the suites' layouts to the
    tables of one pattern, for readers that take the first row that fits.
    """

    width: int = 80
    colour: bool = False
    run_directory: str = ""
    html_file: str = ""
    pattern: str = ""


Render = Callable[[Judged, Setting], str]


class Format(msgspec.Struct, frozen=True):
    """One way to write a report; ``suffix`` is that of a file which holds it."""

    name: str
    suffix: str
    summary: str
    render: Render
