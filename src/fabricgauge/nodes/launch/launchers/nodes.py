"""Expand node sets in ClusterShell's syntax: ``c[1-4]``, ``@group``, ``rack[1-2]n[01-16]``.

Groups are those of a site, of a user, and of Slurm: ``@partition:NAME`` and ``@idle:PARTITION``
(sinfo(1) of Slurm 22.05). ClusterShell has such sources too, but they run a shell; these do not.
"""

import math
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ClusterShell.NodeSet import ILLEGAL_GROUP_CHARS, RESOLVER_NOGROUP, NodeSet, NodeSetException
from ClusterShell.NodeUtils import (
    GroupResolverConfig,
    GroupResolverError,
    GroupResolverSourceError,
    GroupSource,
    GroupSourceError,
)
from ClusterShell.RangeSet import RangeSet, RangeSetException

from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes import process
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.reading import read_bytes

#: Exceptions of ClusterShell 1.9 for a bad node set or a broken group configuration.
_PARSE_ERRORS = (
    NodeSetException, RangeSetException, GroupSourceError, GroupResolverError, ValueError,
)  # fmt: skip

#: RFC 1123's letters, digits, hyphen and dot, and the underscore that sites use. The first is no
#: hyphen, so that no name can be an option. Colon and comma separate hosts and slots on the command
#: lines of MPI launchers, so no name has them.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")

#: Node sets and groups with ranges, and operators between them. ClusterShell puts the name of a
#: group into a site's command that a shell runs (groups.conf(5), ``map``), so a name holds nothing
#: else; it never holds an operator, since brackets hold only digits. A range begins with a digit:
#: ClusterShell counts [-99] from minus 99.
_RANGE = r"[0-9]+(?:-[0-9]+(?:/[0-9]+)?)?"
_SET = re.compile(rf"(?:[A-Za-z0-9_.@:*?-]|\[{_RANGE}(?:,{_RANGE})*\]|[,!&^])*")
_RANGES = re.compile(r"([0-9]*)\[([^\]]*)\]")
#: A part between commas and operators that are outside brackets.
_PART = re.compile(r"(?:\[[^\]]*\]|[^,!&^\[])+")

#: Largest number of nodes. Large clusters have tens of thousands; millions are a typing error.
MOST_NODES = 1 << 17
_MOST_DIGITS = 18
#: Largest file of nodes, enough for MOST_NODES nodes with comments.
MOST_BYTES = 16 << 20

_SLOTS = re.compile(r":[0-9]+$|,$")
#: Matches from the first of several blanks on: otherwise the search would try each blank.
_AROUND_OPERATORS = re.compile(r"(?<! ) *([,!&^]) *")
#: A group's name that its command would read as an option.
_OPTION = re.compile(r"[@:]-")
#: Commas outside brackets, and ClusterShell's operators beside them.
_COMMA = re.compile(r",(?![^\[\]]*\])")
_SET_OPERATORS = frozenset("!&^")


def expand(nodelist: str, exclude: str = "", option: str = "--nodelist") -> tuple[str, ...]:
    """Return the nodes of ``nodelist`` without those of ``exclude``, each once, in sorted order.

    ``^FILE`` stands for the nodes in a file, such as an MPI's host file. Groups come from
    ClusterShell's configuration and from Slurm: ``@partition:normal``, ``@idle:normal``. Messages
    call ``nodelist`` by the name ``option``.

    Raises:
        UsageError: bad syntax, an unknown group, no remaining node, or an impossible host name.
    """
    nodes = _parse(_read_nodelist(nodelist), option)
    if exclude:
        nodes.difference_update(_parse(_read_nodelist(exclude), "--exclude"))
    if not len(nodes):
        condition = f" without {exclude!r}" if exclude else ""
        raise UsageError(f"no node remains in {nodelist!r}{condition}; name at least one with -w")
    return require_host_names(str(name) for name in nodes)


def expand_ranks(nodelist: str, option: str) -> tuple[str, ...]:
    """Return each rank's node, in order: as ``expand`` for each part between commas by itself.

    A node that is written twice has two ranks. A list with operators of sets has each node once.
    """
    text = _read_nodelist(nodelist)
    parts = [part.strip() for part in _COMMA.split(text)]
    if _SET_OPERATORS & {*text} or not all(parts):
        return expand(nodelist, option=option)
    return tuple(node for part in parts for node in expand(part, option=option))


def select_nodes(request: MeasurementRequest, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the nodes that the request names, else the ``known`` nodes, without excluded nodes.

    Empty if the request names no node and no node is known.

    Raises:
        UsageError: as ``expand``.
    """
    if request.nodelist:
        return expand(request.nodelist, request.exclude)
    if not known or not request.exclude:
        return known
    return expand(",".join(known), request.exclude)


def select_of_job(request: MeasurementRequest, nodes: tuple[str, ...], job: str) -> tuple[str, ...]:
    """Return the requested of a job's ``nodes``, in the job's order; messages call it ``job``.

    Raises:
        UsageError: as ``expand``, or the job does not contain a requested node.
    """
    requested = select_nodes(request, nodes)
    for node in requested:
        if node not in nodes:
            raise UsageError(f"{job} has no node {node!r}; it has {', '.join(nodes)}")
    return tuple(node for node in nodes if node in requested)


def _read_nodelist(text: str) -> str:
    """Return ``text``, or the nodes in the file of ``^FILE``: each line's first word, no slots."""
    if not text.startswith("^"):
        return text
    try:
        lines = read_bytes(Path(text[1:]), most_bytes=MOST_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the nodes in {text[1:]!r:.300}: {reason}") from error
    words = (line.partition("#")[0].split() for line in lines)
    return ",".join(_SLOTS.sub("", word[0]) for word in words if word)


def require_host_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return ``names`` if each can be the name of a host.

    Raises:
        UsageError: a name with another character, or with a hyphen at its beginning.
    """
    host_names = tuple(names)
    for name in host_names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r:.300} cannot be a host's name: use letters, digits, '.', '_' and '-', "
                "and do not begin with '-'"
            )
    return host_names


def _limit_count(text: str, option: str) -> None:
    """Refuse ranges that stand for more nodes than any cluster has."""
    count = 0
    for part in _PART.finditer(text):
        counts = (_count_nodes(*match) for match in _RANGES.findall(part[0]))
        count += math.prod(min(number, MOST_NODES + 1) for number in counts)
    if count > MOST_NODES:
        raise UsageError(
            f"{option} {text!r:.300} stands for more than {MOST_NODES:,} nodes; name fewer"
        )


def _count_nodes(digits: str, ranges: str) -> int:
    """Return the number of nodes of ``ranges`` in brackets after ``digits``.

    ClusterShell puts the digits before both ends of a range, so that c6[1-12] is c[61-612]
    (1.9, NodeSet.py).
    """
    plain_count = sum(map(_count_numbers, ranges.split(",")))
    if not digits or plain_count > MOST_NODES:
        return plain_count
    parts = (
        (str(part).partition("/")[0].split("-"), len(part))
        for part in RangeSet(ranges).contiguous()
    )
    return sum(
        _count_numbers("-".join(digits + bound for bound in bounds))
        if len(bounds[0]) < len(bounds[-1])
        else count
        for bounds, count in parts
    )


def _count_numbers(part: str) -> int:
    """Return the count of numbers in ``1-9/2``; ClusterShell refuses text that is no range."""
    low, _, high = part.partition("/")[0].partition("-")
    if len(low) > _MOST_DIGITS or len(high) > _MOST_DIGITS:
        return MOST_NODES + 1
    return max(1, int(high) - int(low) + 1) if low.isdecimal() and high.isdecimal() else 1


def _parse(text: str, option: str) -> NodeSet:
    text = _AROUND_OPERATORS.sub(r"\1", text.strip())
    if not _SET.fullmatch(text) or _OPTION.search(text):
        raise UsageError(
            f"{option} {text!r:.300} is no list of nodes: names of hosts and groups hold only"
            " letters, digits, '.', '_' and '-'; write e.g. c[1-4] or @rack1"
        )
    try:
        _limit_count(text, option)
        if "@" not in text:
            return NodeSet(text, resolver=RESOLVER_NOGROUP)
        return NodeSet(text, resolver=resolver())
    except GroupResolverSourceError as error:
        raise UsageError(
            f"{option} {text!r:.300}: no source of groups is named {str(error)!r}; ClusterShell's"
            " groups.conf(5) defines the sources"
        ) from error
    except _PARSE_ERRORS as error:
        raise UsageError(f"{option} {text!r:.300}: {error}; write e.g. c[1-4] or @rack1") from error


_SINFO_TIMEOUT_S = 60.0

#: Directory of a site's ClusterShell configuration.
SITE = Path("/etc/clustershell")

#: Options of sinfo for each source of groups. ``idle`` nodes can run a job at once.
SOURCES: dict[str, tuple[str, ...]] = {
    "partition": (),
    "idle": ("--states=idle", "--responding"),
}


@cache
def resolver() -> GroupResolverConfig:
    """Return the resolver of groups; a site's source replaces Slurm's source of the same name.

    Raises:
        UsageError: others can change a file whose commands would be run.
    """
    config = GroupResolverConfig([str(file) for file in _config_files()], ILLEGAL_GROUP_CHARS)
    site_sources = set(config.sources())
    for name, options in SOURCES.items():
        if name not in site_sources:
            config.add_source(_SlurmSource(name, options))
    return config


def _config_files() -> Iterator[Path]:
    """Return ClusterShell's configuration files except the samples that pip installs.

    Source: ClusterShell.Defaults.config_paths of ClusterShell 1.10, groups.conf(5). The files hold
    commands that a shell runs.
    """
    variable = os.environ.get("CLUSTERSHELL_CFGDIR", "")
    user = place("XDG_CONFIG_HOME").parent / "clustershell"
    for folder in (SITE, user, *((Path(variable),) if variable else ())):
        file = folder / "groups.conf"
        if not file.exists():
            continue
        if foreign := not_own(file, or_roots=True):
            raise UsageError(
                f"{file} holds commands, and others can change it: {foreign}; only you or root"
                " may own and write it"
            )
        yield file


class _SlurmSource(GroupSource):  # type: ignore[misc]
    """The nodes of each partition, as sinfo reports them."""

    def __init__(self, name: str, options: tuple[str, ...]) -> None:
        super().__init__(name)
        self._options = options

    def resolv_map(self, group: str) -> str:
        return _run_sinfo(f"--partition={group}", *self._options, "--format=%N")

    def resolv_list(self) -> list[str]:
        return _run_sinfo("--format=%R").split(",")

    def resolv_all(self) -> str:
        return _run_sinfo(*self._options, "--format=%N")


def _run_sinfo(*words: str) -> str:
    """Return the output of sinfo, its lines joined by commas.

    Raises:
        UsageError: Slurm is not installed, or did not answer.
    """
    try:
        completed = process.run(("sinfo", "--noheader", *words), timeout_s=_SINFO_TIMEOUT_S)
    except ToolMissing as error:
        raise UsageError(f"@partition and @idle are groups of Slurm: {error}") from error
    if completed.exit_code != 0:
        raise UsageError(f"sinfo did not answer: {' '.join(completed.stderr.split())[:300]}")
    return ",".join(
        dict.fromkeys(line.strip() for line in completed.stdout.splitlines() if line.strip())
    )
