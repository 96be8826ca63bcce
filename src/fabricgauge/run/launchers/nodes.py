"""Node sets as ClusterShell writes them: ``c[1-4]``, ``@group``, ``rack[1-2]n[01-16]``."""

import math
import re
from collections.abc import Iterable
from pathlib import Path

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
from ClusterShell.NodeUtils import GroupResolverError, GroupResolverSourceError, GroupSourceError
from ClusterShell.RangeSet import RangeSet, RangeSetException

from fabricgauge.files.reading import read_bytes
from fabricgauge.model.errors import UsageError
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.run.launchers.groups import resolver

#: All that a bad node set or a broken group configuration raises in ClusterShell 1.9.
_NOT_UNDERSTOOD = (
    NodeSetException, RangeSetException, GroupSourceError, GroupResolverError, ValueError,
)  # fmt: skip

#: RFC 1123's letters, digits, hyphen and dot, and the underscore that sites use. The
#: first is no hyphen, so that no name can be an option; no colon or comma, which
#: separate hosts and their slots on the command lines of MPI launchers.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")

#: Node sets and groups with ranges, operators between them. ClusterShell puts the name of a
#: group into a command of the site's that a shell runs (groups.conf(5), ``map``), so that nothing
#: else may be in it; an operator never is, since brackets hold digits alone. A range begins with a
#: digit: ClusterShell counts [-99] from minus 99.
_RANGE = r"[0-9]+(?:-[0-9]+(?:/[0-9]+)?)?"
_SET = re.compile(rf"(?:[A-Za-z0-9_.@:*?-]|\[{_RANGE}(?:,{_RANGE})*\]|[,!&^])*")
_RANGES = re.compile(r"([0-9]*)\[([^\]]*)\]")
#: What stands between commas and operators that are outside of brackets.
_NAMED = re.compile(r"(?:\[[^\]]*\]|[^,!&^\[])+")

#: The largest clusters have some ten thousand nodes; a range of millions is a typing error.
MOST_NODES = 1 << 17
_MOST_DIGITS = 18
#: Largest file of nodes: it has room for MOST_NODES nodes, each with a comment.
MOST_BYTES = 16 << 20

_SLOTS = re.compile(r":[0-9]+$|,$")
#: From the first blank of a run on: else each blank of a long one would be tried.
_AROUND_OPERATORS = re.compile(r"(?<! ) *([,!&^]) *")
#: A group's name that the command would take for an option.
_OPTION = re.compile(r"[@:]-")


def expand(nodelist: str, exclude: str = "", option: str = "--nodelist") -> tuple[str, ...]:
    """The nodes of ``nodelist`` without those of ``exclude``, each once, in ClusterShell's order.

    ``^FILE`` stands for the nodes that a file names, such as an MPI's host file. Groups come from
    ClusterShell's own configuration, and from Slurm: ``@partition:normal``, ``@idle:normal``.
    ``option`` is what errors call ``nodelist``.

    Raises:
        UsageError: bad syntax, an unknown group, nothing left, or a name that no host can have.
    """
    chosen = _parse(_said(nodelist), option)
    if exclude:
        chosen.difference_update(_parse(_said(exclude), "--exclude"))
    if not len(chosen):
        rest = f" once {exclude!r} is left out" if exclude else ""
        raise UsageError(f"no node is left in {nodelist!r}{rest}; name at least one with -w")
    return checked(str(name) for name in chosen)


def chosen(request: MeasurementRequest, everybody: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The nodes that the request names, or everybody, without those to leave out.

    Empty where neither is known.

    Raises:
        UsageError: as of ``expand``.
    """
    if request.nodelist:
        return expand(request.nodelist, request.exclude)
    if not everybody or not request.exclude:
        return everybody
    return expand(",".join(everybody), request.exclude)


def _said(text: str) -> str:
    """``text``, or what the file of ``^FILE`` says: of each line the first word, without slots."""
    if not text.startswith("^"):
        return text
    try:
        lines = read_bytes(Path(text[1:]), most_bytes=MOST_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the nodes in {text[1:]!r:.300}: {why}") from error
    words = (line.partition("#")[0].split() for line in lines)
    return ",".join(_SLOTS.sub("", word[0]) for word in words if word)


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` as they are, if each can be a host's name.

    Raises:
        UsageError: a name with any other character, or one that begins with a hyphen.
    """
    kept = tuple(names)
    for name in kept:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r:.300} cannot be a host's name: letters, digits, '.', '_' and '-' "
                "are possible, and it does not begin with '-'"
            )
    return kept


def _require_few(text: str, option: str) -> None:
    """Refuse ranges that stand for more nodes than there are anywhere."""
    count = 0
    for name in _NAMED.finditer(text):
        each = (_count(*one) for one in _RANGES.findall(name[0]))
        count += math.prod(min(one, MOST_NODES + 1) for one in each)
    if count > MOST_NODES:
        raise UsageError(
            f"{option} {text!r:.300} stands for more than {MOST_NODES:,} nodes; name fewer"
        )


def _count(digits: str, ranges: str) -> int:
    """How many nodes ``ranges`` in brackets behind ``digits`` stand for: ClusterShell puts the
    digits before both ends of a range, so that c6[1-12] is c[61-612] (1.9, NodeSet.py)."""
    plain = sum(map(_length, ranges.split(",")))
    if not digits or plain > MOST_NODES:
        return plain
    each = (
        (str(one).partition("/")[0].split("-"), len(one)) for one in RangeSet(ranges).contiguous()
    )
    return sum(
        _length("-".join(digits + end for end in ends)) if len(ends[0]) < len(ends[-1]) else count
        for ends, count in each
    )


def _length(part: str) -> int:
    """How many numbers ``1-9/2`` stands for; what is no range is ClusterShell's to refuse."""
    low, _, high = part.partition("/")[0].partition("-")
    if len(low) > _MOST_DIGITS or len(high) > _MOST_DIGITS:
        return MOST_NODES + 1
    return max(1, int(high) - int(low) + 1) if low.isdecimal() and high.isdecimal() else 1


def _parse(text: str, option: str) -> NodeSet:
    text = _AROUND_OPERATORS.sub(r"\1", text.strip())
    if not _SET.fullmatch(text) or _OPTION.search(text):
        raise UsageError(
            f"{option} {text!r:.300} is no list of nodes: names of hosts and groups hold letters,"
            " digits, '.', '_' and '-' alone; write it as c[1-4] or @rack1, for example"
        )
    try:
        _require_few(text, option)
        return NodeSet(text, resolver=resolver() if "@" in text else RESOLVER_NOGROUP)
    except GroupResolverSourceError as error:
        raise UsageError(
            f"{option} {text!r:.300}: there is no source of groups {str(error)!r}; ClusterShell's"
            " groups.conf(5) defines them"
        ) from error
    except _NOT_UNDERSTOOD as error:
        raise UsageError(
            f"{option} {text!r:.300}: {error}; write it as c[1-4] or @rack1, for example"
        ) from error
