"""What is known of a ucx_perftest run beside its figures: the server's box, the command."""

import re
from typing import Literal

import msgspec

from fabricgauge.parse.interface import Line
from fabricgauge.parse.table import Heading
from fabricgauge.parse.ucx.known_tests import (
    UNNAMED,
    UNNAMED_STREAM,
    Test,
    commanded,
    described,
    named,
)

BOX = re.compile(r"\| (?P<name>[A-Z][\w ]{2,30}): +(?P<value>[^|]{0,60}?) *\|")
_SIZE = re.compile(r"\s-s\s*(\d{1,15})(?=\s|$)")
_TRANSPORT = re.compile(r"\s-x\s*(\w+)")
_VERBS = re.compile(r"(?:rc|ud|dc)(?:_|$)")
_MOST_SETTINGS = 32


class Context(msgspec.Struct, frozen=True):
    """``announced`` is the box's first line; ``batch`` names a test of a batch file.

    ``overhead`` is whether the heading calls its times that, and not latency.
    """

    box: dict[str, str] = {}
    announced: Line | None = None
    command: str = ""
    batch: str = ""
    overhead: bool = False

    def with_box(self, text: str) -> "Context | None":
        """With one more line of the box; None if the line is none."""
        match = BOX.match(text)
        if match is None or len(self.box) >= _MOST_SETTINGS:
            return None
        return msgspec.structs.replace(
            self, box={**self.box, match["name"]: match["value"].strip()}
        )

    @property
    def test(self) -> Test:
        by_box = described(self.box.get("Test", ""), self.box.get("API", ""))
        by_name = named(self.batch.split("/")[0])
        told = (test for test in (by_box, commanded(self.command), by_name) if test != UNNAMED)
        return next(told, UNNAMED_STREAM if self.overhead else UNNAMED)

    @property
    def message_bytes(self) -> int | None:
        option = _SIZE.search(self.command)
        size = self.box.get("Message size") or (option[1] if option else "")
        return int(size) if size.isascii() and size.isdigit() and len(size) < 16 else None

    def heading(self, first_line: int) -> Heading:
        settings = {name.lower(): value for name, value in self.box.items() if value}
        told = {"command": self.command, "batch": self.batch}
        settings.update({key: value for key, value in told.items() if value})
        return Heading(
            suite="ucx_perftest", version="", benchmark=self.test.name,
            title=self.box.get("Test", ""), first_line=first_line,
            transport=_transport(self.command), settings=settings,
        )  # fmt: skip


def _transport(command: str) -> Literal["tcp", "rdma", ""]:
    option = _TRANSPORT.search(command)
    if option is None:
        return ""
    if option[1] == "tcp":
        return "tcp"
    return "rdma" if _VERBS.match(option[1]) else ""
