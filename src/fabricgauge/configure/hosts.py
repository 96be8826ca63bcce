"""The names of a network's ends in /etc/hosts; pure.

Format: hosts(5), Linux man-pages: an address, then names; "#" begins a comment.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from functools import cache

from fabricgauge.configure.files import edited, fields, joined, questions, split
from fabricgauge.configure.job import HEAD, Draft, on
from fabricgauge.model.configuration import Step
from fabricgauge.model.finding import Command
from fabricgauge.model.groups import grouped

PATH = "/etc/hosts"


def names(job: Draft) -> dict[str, str]:
    """Every name of the wanted ends, with its address; plain names before those with a suffix."""
    found: dict[str, str] = {}
    for wanted, port in job.ports:
        if wanted.plain:
            found[port.node] = port.ip
    for wanted, port in job.ports:
        if wanted.suffix:
            found[f"{port.node}{wanted.suffix}"] = port.ip
    return found


def asks(job: Draft) -> Iterator[Command]:
    """What must be read before."""
    if names(job):
        for node in (HEAD, *job.nodes):
            yield from questions(node, PATH)


def steps(job: Draft) -> Iterator[Step]:
    """One step for the head and for each node; they may share the file."""
    wanted = names(job)
    if not wanted:
        return
    lines = list(_lines(wanted))
    edit = cache(lambda text: corrected(text, wanted))  # most nodes have the same file
    for node in (HEAD, *job.nodes):
        yield edited(
            job, node, PATH, edit, lines,
            f"Name the ends of {', '.join(one.name for one in job.wanted)} in {PATH} of {on(node)}",
            "a name that means another address, or none, sends traffic over another network",
        )  # fmt: skip


def corrected(text: str, wanted: Mapping[str, str]) -> str:
    """The text in which each wanted name means its address and no other.

    A line whose names all mean another one address gets that address in its place. Else a
    wrong name is taken from its line, and the line goes when it was the last; lines that are
    right, comments and IPv6 addresses stay as they are.
    """
    ips = {name.casefold(): ip for name, ip in wanted.items()}
    lines = split(text)
    right = {
        word.casefold()
        for ip, *names in (fields(line.partition("#")[0]) or [""] for line in lines)
        for word in names
        if ips.get(word.casefold()) == ip
    }
    kept = [line for old in lines for line in _line(old, ips, right)]
    missing = {name: ip for name, ip in wanted.items() if name.casefold() not in right}
    if not missing and kept == lines:
        return text
    return joined((*kept, *_lines(missing)))


def _line(line: str, ips: Mapping[str, str], right: set[str]) -> Iterator[str]:
    """The line as it stays, if it does; names that are made right in it are added to ``right``."""
    spoken, mark, comment = line.partition("#")
    words = fields(spoken)
    if len(words) < 2 or not _is_ipv4(words[0]):
        yield line
        return
    names = [word.casefold() for word in words[1:]]
    wrong = [name for name in names if ips.get(name, words[0]) != words[0]]
    if not wrong:
        yield line
    elif wrong == names and not right & set(names) and len({ips[name] for name in names}) == 1:
        right.update(names)
        yield line.replace(words[0], ips[names[0]], 1)
    elif left := [word for word in words[1:] if word.casefold() not in wrong]:
        yield " ".join((words[0], *left)) + (f" {mark}{comment}" if mark else "")


def _is_ipv4(word: str) -> bool:
    try:
        ipaddress.IPv4Address(word)
    except ValueError:
        return False
    return True


def _lines(wanted: Mapping[str, str]) -> Iterator[str]:
    for ip, own in grouped(wanted, wanted.__getitem__).items():
        yield " ".join((ip, *own))
