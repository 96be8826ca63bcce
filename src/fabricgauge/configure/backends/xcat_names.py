"""Names that xCAT makes of its tables, in the head's hosts file and its name server; pure.

Source: xCAT 2.16, manual pages of makehosts and makedns.
"""

from collections.abc import Iterator

from fabricgauge.configure import files
from fabricgauge.configure.job import HEAD, Job
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command

_HOSTS = "/etc/hosts"

#: Copies of it: as it was, where it could not be read for the plan, and as makehosts left it.
_BEFORE, _WRITTEN = f"{_HOSTS}.before-fabricgauge", f"{_HOSTS}.by-fabricgauge"


def asks() -> Iterator[Command]:
    yield from files.questions(HEAD, _HOSTS)


def steps(job: Job) -> Iterator[Step]:
    """The hosts file first: the name server's zones are made of it."""
    yield _makehosts(job)
    yield _makedns(job)


def _ends(job: Job) -> list[tuple[str, str]]:
    """Names and addresses of the ends whose suffix is known."""
    return [(f"{port.node}{wanted.suffix}", port.ip) for wanted, port in job.ports if wanted.suffix]


def _makehosts(job: Job) -> Step:
    """What makehosts writes is not known beforehand; a copy shows whether it is still all there."""
    held = files.content(job, HEAD, _HOSTS)
    keep = () if isinstance(held, str) else (_copied(_HOSTS, _BEFORE),)
    back = (
        Command(HEAD, ("tee", "--", _HOSTS), held)
        if isinstance(held, str)
        else _copied(_BEFORE, _HOSTS)
    )
    copies = (_WRITTEN,) if isinstance(held, str) else (_WRITTEN, _BEFORE)
    return Step(
        f"Write the names of all ends into {_HOSTS} of the head",
        "they are made of a node's name and the network's suffix",
        (
            *keep,
            _copied(_HOSTS, _WRITTEN),
            Command(HEAD, ("makehosts", ",".join(job.nodes))),
            _copied(_HOSTS, _WRITTEN),
        ),
        tuple(
            Verification(Command(HEAD, ("getent", "ahostsv4", name)), f"\n{ip} ")
            for name, ip in _ends(job)
        ),
        (
            Command(HEAD, ("cmp", "--", _HOSTS, _WRITTEN)),
            back,
            _copied(_HOSTS, _WRITTEN),  # so that undoing once more can go on from here
            Command(HEAD, ("makedns", "-n")),
            Command(HEAD, ("rm", "-f", "--", *copies)),
        ),
        undo_note="the file is put back as it was, if nobody has written into it since",
        before=(files.same(HEAD, _HOSTS, held),) if isinstance(held, str) else (),
        follows=True,
    )


def _copied(source: str, target: str) -> Command:
    return Command(HEAD, ("cp", "-p", "--", source, target))


def _makedns(job: Job) -> Step:
    return Step(
        "Let the head's name server know the names",
        "nodes ask it; a new network needs zones of its own, so that all are written anew (-n)",
        (Command(HEAD, ("makedns", "-n")),),
        tuple(
            Verification(Command(HEAD, ("nslookup", name, "127.0.0.1")), f" {ip}\n")
            for name, ip in _ends(job)
        ),
        (),
        undo_note=f"written anew when {_HOSTS} is put back",
        follows=True,
    )
