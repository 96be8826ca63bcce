"""What stands above a perftest table: title, settings, side, command line."""

import re

import msgspec

from fabricgauge.parse.interface import Line
from fabricgauge.parse.perftest.programs import Program, named, settled, titled
from fabricgauge.parse.table import Heading

_LONGEST_COMMAND = 500
#: perftest has fewer than thirty settings; what else looks like one is not kept.
_MOST_SETTINGS = 64
_CYCLES = re.compile(r"\s(?:-\w*C\w*|--report-cycles)(?=\s|$)")


class Block(msgspec.Struct, frozen=True):
    """One program's heading as far as it was read.

    ``waits`` is the line in which a server waits for its client, ``side`` is Local or
    Remote where both directions' shares of a two-way stream follow, ``shown`` whether a
    table came, ``finished`` whether its rows are over, ``cycles`` whether its figures are
    CPU cycles.
    """

    title: Line | None = None
    settings: dict[str, str] = {}
    command: str = ""
    waits: Line | None = None
    side: str = ""
    shown: bool = False
    finished: bool = False
    cycles: bool = False

    def titled(self, title: Line) -> "Block":
        """A command line or a server's waiting belong to the next title only."""
        if self.title is not None or self.finished:
            return Block(title)
        return msgspec.structs.replace(self, title=title, settings={}, shown=False)

    def waiting(self, line: Line) -> "Block":
        command = "" if self.title is not None or self.finished else self.command
        return Block(command=command, waits=line, cycles=_in_cycles(command))

    def commanded(self, command: str) -> "Block":
        command = " ".join(command[:_LONGEST_COMMAND].split())
        return Block(command=command, cycles=_in_cycles(command))

    def with_settings(self, found: dict[str, str]) -> "Block":
        if len(self.settings) >= _MOST_SETTINGS:
            return self
        return msgspec.structs.replace(self, settings={**self.settings, **found})

    def for_table(self) -> "Block":
        """The block that a table's heading belongs to: none that already had its rows.

        Only the two shares of a two-way stream follow their sum under the same title.
        """
        block = Block() if self.finished and not self.side else self
        return msgspec.structs.replace(block, shown=True)

    def program(self, kind: str) -> Program:
        """The program whose table has columns of a ``kind``: by its title, else by command."""
        program = titled(self.title.text) if self.title else named(self.command)
        if program is None or not program.kind.endswith(kind):
            return Program("", kind)
        program = settled(program, self.settings)
        if not program.both or not self.side:
            return program
        backward = (self.side == "Remote") is not (self.waits is not None)
        return msgspec.structs.replace(program, half=True, backward=backward)

    def heading(self, program: Program, line: Line) -> Heading:
        settings = dict(self.settings)
        told = {
            "command": self.command,
            "side": "server" if self.waits else "",
            "results": self.side.lower(),
        }
        settings.update({key: value for key, value in told.items() if value})
        title, first = "", line.number
        if self.title is not None:
            title, first = self.title.text.strip(), self.title.number
        return Heading(
            suite="perftest", version="", benchmark=program.name, title=title, first_line=first,
            transport="" if program.raw else "rdma", settings=settings,
        )  # fmt: skip


def _in_cycles(command: str) -> bool:
    return _CYCLES.search(command) is not None
