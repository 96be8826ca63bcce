"""The boxes that GPCNeT draws, and what their titles and names mean (utils.c, 1.1 to 1.3)."""

import re

import msgspec

#: Title of a box, the name that a curve gets from it, and the program's own count of rows.
ISOLATED, CONGESTORS, CONGESTED, IMPACT = "isolated", "congestors", "congested", "impact"
_TITLES = (
    ("Key Results", IMPACT),
    ("Isolated Network Tests", ISOLATED),
    ("Isolated Congestion Tests", CONGESTORS),
    ("Network Tests running with Congestion Tests", CONGESTED),
)
_NAME = re.compile(r"^(?P<name>.*\S) \( *(?P<bytes>\d{1,12}) B\)$")


class Cells(msgspec.Struct, frozen=True):
    """One row of a box: its name without the size, the size, and the other cells."""

    name: str
    message_bytes: int | None
    values: tuple[str, ...]


def title_of(text: str) -> str | None:
    """The kind of box whose title the line is."""
    if not text.startswith("|") or text.count("|") != 2:
        return None
    return next((kind for title, kind in _TITLES if title in text), None)


def cells_of(text: str) -> Cells | None:
    """The row in a line; None for rulers, titles, and broken rows."""
    stripped = text.strip()
    if not stripped.startswith("|") or not stripped.endswith("|") or stripped.count("|") < 3:
        return None
    name, *values = [cell.strip() for cell in stripped[1:-1].split("|")]
    match = _NAME.match(name)
    size = int(match["bytes"]) if match else None
    return Cells(match["name"] if match else name, size, tuple(values))


#: What the names mean; ``RR`` is the random ring, ``Nat`` the natural one. In a ring each
#: rank exchanges with both of its neighbours, which no pattern of ours does.
WHAT = {
    "RR Two-sided Lat": "latency to the neighbours of a random ring",
    "RR Get Lat": "latency of a get in a random ring",
    "RR Two-sided BW": "bandwidth per rank in a random ring",
    "RR Put BW": "bandwidth per rank of puts in a random ring",
    "RR Two-sided BW+Sync": "bandwidth per rank in a random ring with a barrier",
    "Nat Two-sided BW": "bandwidth per rank in the natural ring",
    "Multiple Allreduce": "Allreduce, many at once",
    "Multiple Alltoall": "Alltoall bandwidth per rank, many at once",
}
