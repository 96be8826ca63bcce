"""A row of iperf 2's CSV (``-y C``), which has no heading and exact numbers.

``time,local,port,remote,port,id,from-to,bytes,bit/s`` and for datagrams five more: jitter,
lost, all, share, out of order (``CSV_stats`` in ReportCSV.c, iperf 2.0.13). The row of all
connections has the id -1. iperf 2.1.8 may print a time of 1970.
"""

import re

import msgspec

from fabricgauge.parse.iperf_rows import Row

BEGINS = (
    r"^\d{14}(?:\.\d{3})?,[\da-fA-F.:%\w]*,\d*,[\da-fA-F.:%\w]*,\d*,-?\d+,\d+\.\d+-\d+\.\d+,\d+,"
)
UNIT_RULE = "bits per second / 8 (iperf 2 CSV)"

_ROW = re.compile(
    r"^\d{14}(?:\.\d{3})?,(?P<local>[^,]*),(?P<port>\d*),(?P<remote>[^,]*),(?P<to>\d*),(?P<id>-?\d+),"
    r"(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+),(?P<bytes>\d{1,25}),(?P<rate>-?\d{1,25})(?P<more>,.*)?$"
)


class CsvRow(msgspec.Struct, frozen=True):
    """``stream`` names the connection by its id and local port; ``lost`` is empty for TCP."""

    row: Row
    hosts: tuple[str, str]
    protocol: str
    lost: str


def csv_row(text: str) -> CsvRow | None:
    """The row that the line holds."""
    match = _ROW.match(text) if text[:14].isdigit() else None
    if match is None:
        return None
    more = (match["more"] or "").split(",")
    row = Row(
        stream="SUM" if match["id"] == "-1" else f"{match['id']}:{match['port']}",
        starred=False, count=0, role="", start=float(match["start"]), end=float(match["end"]),
        rate=int(match["rate"]) / 8, unit="bits", rest="",
    )  # fmt: skip
    known = len(more) > 4 and more[3].isdigit()
    lost = f"{more[4]} % ({more[2]} of {more[3]} datagrams)" if known else ""
    return CsvRow(row, (match["local"], match["remote"]), "UDP" if len(more) > 1 else "TCP", lost)
