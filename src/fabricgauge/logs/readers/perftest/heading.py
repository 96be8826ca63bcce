"""Read the lines above a perftest table: title, settings, side, command line."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import command_line
from fabricgauge.logs.readers.perftest.programs import PerftestProgram, named, titled, with_settings
from fabricgauge.logs.readers.table import SuiteHeading
from fabricgauge.model.suite import LogEvidence, VerbsEnd

_NAME = re.compile(r"[A-Za-z][\w .*/-]{0,48}")
_ADDRESS = re.compile(r"(?P<end>local|remote) address: LID (?P<lid>0x[\da-fA-F]{1,8}|\d{1,9})\b")
_GID = re.compile(r"GID: (?P<gid>[\da-fA-F:]{3,64})\s*$")
_OTHER_ADDRESS = re.compile(r"(?:local|remote) address:|GID:")


def setting_name(printed: str) -> str:
    """Return one name for text's and JSON's spellings (``ibv_wr* API``, ``ibv_wr_API``)."""
    words = printed.replace("*", "").replace(".", "").replace("_", " ").split()
    return " ".join(words).lower()


def setting_value(printed: str) -> str:
    return printed.removesuffix("[B]")


def settings_of(text: str) -> dict[str, str] | None:
    """Return the settings of a line such as `` Number of qps   : 1  Transport type : IB``.

    None if the line is none; addresses have no settings, but are perftest's.
    """
    text = text.strip()
    if _OTHER_ADDRESS.match(text):
        return {}
    parts = text.split(": ")
    if not 2 <= len(parts) <= 4:
        return None
    settings: dict[str, str] = {}
    name = parts[0]
    for part in parts[1:]:
        words = part.split(None, 1)
        if not words or not _NAME.fullmatch(name.strip()):
            return None
        settings[setting_name(name)] = setting_value(words[0])
        name = words[1] if len(words) > 1 else ""
    return settings if not name else None


def with_end(ends: tuple[VerbsEnd, ...], text: str) -> tuple[VerbsEnd, ...]:
    """Return the local and the remote end, with the facts of one more line.

    For several connections only the first one's are kept: all are of the same ports.
    """
    address, gid = _ADDRESS.match(text), _GID.match(text)
    if address and len(ends) == ("local", "remote").index(address["end"]):
        return (*ends, VerbsEnd(int(address["lid"], 16)))
    if gid and ends and not ends[-1].gid:
        return (*ends[:-1], VerbsEnd(ends[-1].lid, gid["gid"]))
    return ends


def evidence_in(settings: Mapping[str, str], ends: Sequence[VerbsEnd] = ()) -> LogEvidence:
    """Return perftest's facts on device, link and MTU, from text or JSON."""
    mtu, device = settings.get("mtu", ""), settings.get("device", "")
    return LogEvidence(
        verbs_ends=tuple(ends) if len(ends) == 2 else (),
        link_type=settings.get("link type", ""),
        mtu_bytes=int(mtu) if mtu.isdecimal() and len(mtu) < 7 else None,
        devices=(device,) if device else (),
    )


#: perftest has fewer than thirty settings; further ones are dropped.
_MOST_SETTINGS = 64
_CYCLES = re.compile(r"\s(?:-\w*C\w*|--report-cycles)(?=\s|$)")


class PerftestBlock(msgspec.Struct):
    """One program's heading as far as it was read.

    ``waits`` is the line in which a server waits for its client. ``side`` is Local or Remote where
    both directions' shares of a two-way stream follow. ``shown`` is true once a table came,
    ``finished`` once its rows are over, ``cycles`` if its figures are CPU cycles.
    """

    title: LogLine | None = None
    settings: dict[str, str] = {}
    ends: tuple[VerbsEnd, ...] = ()
    command: str = ""
    waits: LogLine | None = None
    side: str = ""
    shown: bool = False
    finished: bool = False
    cycles: bool = False

    def titled(self, title: LogLine) -> "PerftestBlock":
        """Return the block of a title, for which alone a command or a server's waiting counts."""
        if self.title is not None or self.finished:
            return PerftestBlock(title)
        return msgspec.structs.replace(self, title=title, settings={}, ends=(), shown=False)

    def waiting(self, line: LogLine) -> "PerftestBlock":
        command = "" if self.title is not None or self.finished else self.command
        return PerftestBlock(command=command, waits=line, cycles=_in_cycles(command))

    def commanded(self, command: str) -> "PerftestBlock":
        command = command_line(command)
        return PerftestBlock(command=command, cycles=_in_cycles(command))

    def learn(self, text: str, settings: Mapping[str, str]) -> None:
        """Take the facts of a line; addresses are no settings."""
        if not settings:
            self.ends = with_end(self.ends, text.strip())
        elif len(self.settings) < _MOST_SETTINGS:
            self.settings.update(settings)

    def for_table(self) -> "PerftestBlock":
        """Return the block of a table's heading: one whose rows have not come yet.

        Only the two shares of a two-way stream follow their sum under the same title.
        """
        block = PerftestBlock() if self.finished and not self.side else self
        block.shown = True
        return block

    def program(self, kind: str) -> PerftestProgram:
        """Return the program whose table has columns of a ``kind``, by title or else by command."""
        program = titled(self.title.text) if self.title else named(self.command)
        if program is None or not program.kind.endswith(kind):
            return PerftestProgram("", kind)
        program = with_settings(program, self.settings)
        if not program.both or not self.side:
            return program
        backward = (self.side == "Remote") is not (self.waits is not None)
        return msgspec.structs.replace(program, half=True, backward=backward)

    def heading(self, program: PerftestProgram, line: LogLine) -> SuiteHeading:
        side = "server" if self.waits else ""
        facts = {"command": self.command, "side": side, "results": self.side.lower()}
        title, first = "", line.number
        if self.title is not None:
            title, first = self.title.text.strip(), self.title.number
        return SuiteHeading(
            suite="perftest", version="", benchmark=program.name, title=title, first_line=first,
            transport="" if program.raw else "rdma", settings=self.settings | facts,
            evidence=evidence_in(self.settings, self.ends),
        )  # fmt: skip


def _in_cycles(command: str) -> bool:
    return _CYCLES.search(command) is not None
