"""Plan the names of a network's ends in /etc/hosts; pure.

Format: hosts(5), Linux man-pages: an address, then names; "#" begins a comment.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from fabricgauge.features.configure.files import edit_step, fields, joined, questions, split
from fabricgauge.features.configure.job import HEAD, Draft, Step, on
from fabricgauge.features.configure.links import is_ipv4
from fabricgauge.model.finding import Command
from fabricgauge.model.groups import group_by

PATH = "/etc/hosts"


def names(job: Draft) -> dict[str, str]:
    """Return each planned name with its address; plain names before those with a suffix."""
    ip_by_name: dict[str, str] = {}
    for network, port in job.ports:
        if network.plain:
            ip_by_name[port.node] = port.ip
    for network, port in job.ports:
        if network.suffix:
            ip_by_name[f"{port.node}{network.suffix}"] = port.ip
    return ip_by_name


def asks(job: Draft) -> Iterator[Command]:
    if names(job):
        for node in (HEAD, *job.nodes):
            yield from questions(node, PATH)


def steps(job: Draft) -> Iterator[Step]:
    """Yield one step for the head and for each node; they may share the file."""
    ip_by_name = names(job)
    if not ip_by_name:
        return
    lines = list(_host_lines(ip_by_name))
    edit = cache(lambda text: correct_hosts(text, ip_by_name))  # most nodes have the same file
    networks = ", ".join(network.name for network in job.wanted)
    for node in (HEAD, *job.nodes):
        yield edit_step(
            job, node, PATH, edit, lines, f"Name the ends of {networks} in {PATH} of {on(node)}",
            "a missing name, or one with another address, sends traffic over another network",
        )  # fmt: skip


def correct_hosts(text: str, ip_by_name: Mapping[str, str]) -> str:
    """Correct the text so that each planned name has its address and no other.

    If all names of a line belong to one other address, the line gets that address. Otherwise a
    wrong name is removed from its line, and the line with its last name. Correct lines, comments
    and IPv6 addresses stay as they are.
    """
    ips = {name.casefold(): ip for name, ip in ip_by_name.items()}
    lines = split(text)
    right = {
        word.casefold()
        for ip, *names in (fields(line.partition("#")[0]) or [""] for line in lines)
        for word in names
        if ips.get(word.casefold()) == ip
    }
    new_lines = [line for old in lines for line in _correct_line(old, ips, right)]
    missing = {name: ip for name, ip in ip_by_name.items() if name.casefold() not in right}
    if not missing and new_lines == lines:
        return text
    return joined((*new_lines, *_host_lines(missing)))


def _correct_line(line: str, ips: Mapping[str, str], right: set[str]) -> Iterator[str]:
    """Yield the corrected line unless it is removed; names that become right go to ``right``."""
    entry, mark, comment = line.partition("#")
    words = fields(entry)
    if len(words) < 2 or not is_ipv4(words[0]):
        yield line
        return
    names = [word.casefold() for word in words[1:]]
    wrong = [name for name in names if ips.get(name, words[0]) != words[0]]
    if not wrong:
        yield line
    elif wrong == names and not right & set(names) and len({ips[name] for name in names}) == 1:
        right.update(names)
        yield line.replace(words[0], ips[names[0]], 1)
    elif right_names := [word for word in words[1:] if word.casefold() not in wrong]:
        yield " ".join((words[0], *right_names)) + (f" {mark}{comment}" if mark else "")


def _host_lines(ip_by_name: Mapping[str, str]) -> Iterator[str]:
    for ip, names_of_ip in group_by(ip_by_name, ip_by_name.__getitem__).items():
        yield " ".join((ip, *names_of_ip))
