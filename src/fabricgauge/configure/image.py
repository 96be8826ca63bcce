"""Packages, locked memory and mounts of the head and of an image; pure.

Sources: dnf(8) of dnf 4, rpm(8) of rpm 4.14; limits.conf(5) of Linux-PAM 1.5: domain, type (soft,
hard or "-" for both), item, value; of two lines for the same the later one counts, and those of
limits.d come after; fstab(5) of util-linux 2.38: blanks and backslashes in a field are written as
octal escapes.
"""

from collections.abc import Iterator, Sequence

from fabricgauge.configure.description import Image, Mount
from fabricgauge.configure.files import edited, fields, joined, lines_in, octal, questions, split
from fabricgauge.configure.job import HEAD, PlanInput, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command


def asks(image: Image) -> Iterator[Command]:
    yield from packages_asks(image.root, image.packages)
    if image.memlock:
        yield from limits_asks(HEAD, image.root)
    if image.mounts:
        yield from questions(HEAD, fstab_path(image.root))


def steps(job: PlanInput, image: Image) -> Iterator[Step]:
    """In the order in which they do not disturb each other: packages may bring files."""
    if image.packages:
        yield from packages_steps(job, image.root, image.packages)
    if image.memlock:
        yield from limits_steps(job, HEAD, image.root, image.memlock)
    if image.mounts:
        yield from mounts_steps(job, image.root, image.mounts)
    for name in image.services:
        yield _enabled(image.root, name)


def changed_files(image: Image) -> tuple[str, ...]:
    """What in the image is newer than its packed form while that is out of date."""
    return (
        *(("/var/lib/rpm",) if image.packages else ()),
        *((f"/{LIMITS_FILE}",) if image.memlock else ()),
        *(("/etc/fstab",) if image.mounts else ()),
        *(("/etc/systemd/system",) if image.services else ()),
    )


def seen_on(image: Image, node: str) -> Iterator[Verification]:
    """What a node has when it runs the image as it is wanted."""
    if image.packages:
        yield Verification(Command(node, ("rpm", "-q", "--", *image.packages)), "")
    if image.memlock:
        yield lines_in(node, limits_path("/"), memlock_lines(image.memlock))
    if image.mounts:
        yield lines_in(node, fstab_path("/"), [fstab_line(one) for one in image.mounts])
    for name in image.services:
        yield Verification(Command(node, ("systemctl", "is-enabled", name)), "\nenabled\n")


def newer(root: str, packed: tuple[str, ...], files: tuple[str, ...]) -> Verification:
    """A packed form that is newer than every changed file: ``packed`` are words of find(1)."""
    than = [word for file in files for word in ("-newer", f"{root.rstrip('/')}{file}")]
    return Verification(Command(HEAD, ("find", *packed, *than)), "/")


def _enabled(root: str, name: str) -> Step:
    def systemctl(verb: str) -> Command:
        return Command(HEAD, ("systemctl", f"--root={root}", verb, name))

    return Step(
        f"Have {name} started by the image {root}",
        "what is switched on on a node without disks is forgotten at its next start",
        (systemctl("enable"),),
        (Verification(systemctl("is-enabled"), "\nenabled\n"),),
        (systemctl("disable"),),
    )


def packages_asks(root: str, packages: Sequence[str]) -> Iterator[Command]:
    """One question for each package, so that it is known which are missing."""
    for package in packages:
        yield _query(root, (package,))


def packages_steps(job: PlanInput, root: str, packages: Sequence[str]) -> Iterator[Step]:
    """One step for those that are missing, or for all where that could not be asked."""
    replies = {package: job.reply(_query(root, (package,))) for package in packages}
    missing = tuple(
        package
        for package, reply in replies.items()
        if isinstance(reply, Skipped) or reply.exit_code != 0
    )
    where = f"the image {root}" if root != "/" else "the head"
    rooted = () if root == "/" else (f"--installroot={root}",)
    chosen = missing or tuple(packages)
    asked = not any(isinstance(reply, Skipped) for reply in replies.values())
    yield Step(
        f"Install {', '.join(chosen)} in {where}",
        "the drivers, libraries and programs that the networks and their MPI need",
        (Command(HEAD, ("dnf", "-y", *rooted, "install", *chosen)),),
        (Verification(_query(root, chosen), ""),),
        (_rpm(root, "-e", "--", *chosen),) if asked else (),
        undo_note=_KEPT if asked else _UNKNOWN,
        fulfilled="" if missing else f"rpm knows {', '.join(packages)} in {where}",
        before=(_none_of(root, chosen),) if asked else (),
    )


#: rpm removes what it is told alone, and nothing on which another package depends (rpm(8)).
_KEPT = (
    "packages that came along stay (`dnf autoremove` takes them), and one that others have come to"
    " need is not removed"
)
_UNKNOWN = (
    "which of them were there before was not asked, so that none is removed; `dnf history undo`"
    " takes back what was installed"
)


def _none_of(root: str, packages: Sequence[str]) -> Verification:
    """None has been installed since the plan was made: it would be removed by the undoing."""
    asked = _rpm(root, "-qa", "--qf", "there: %{NAME}\\n", "--", *packages)
    return Verification(asked, "\nthere: ", absent=True)


def _query(root: str, packages: Sequence[str]) -> Command:
    return _rpm(root, "-q", "--", *packages)


def _rpm(root: str, *words: str) -> Command:
    return Command(HEAD, ("rpm", *(() if root == "/" else ("--root", root)), *words))


LIMITS_FILE = "etc/security/limits.conf"

#: The last line of the file as Linux-PAM ships it; what is added stands before it.
_END = "# End of file"


def limits_path(root: str) -> str:
    """The file below a root directory; "/" is the head's own."""
    return f"{root.rstrip('/')}/{LIMITS_FILE}"


def memlock_lines(value: str) -> tuple[str, str]:
    return f"* soft memlock {value}", f"* hard memlock {value}"


def limits_asks(node: str, root: str) -> Iterator[Command]:
    yield from questions(node, limits_path(root))
    yield _later(node, root)


def limits_notes(job: PlanInput, node: str, root: str) -> Iterator[str]:
    """Lines of limits.d that win over what is written."""
    reply = job.reply(_later(node, root))
    for line in () if isinstance(reply, Skipped) else split(reply.output):
        if _is_everybodys_memlock(line):
            yield (
                f"{_folder(root)} of {on(node)} has {' '.join(fields(line))!r}, which is read"
                " later and wins: change it there"
            )


def _folder(root: str) -> str:
    return f"{limits_path(root).removesuffix('.conf')}.d"


def _later(node: str, root: str) -> Command:
    return Command(
        node, ("find", _folder(root), "-name", "*.conf", "-exec", "cat", "--", "{}", "+")
    )


def limits_steps(job: PlanInput, node: str, root: str, value: str) -> Iterator[Step]:
    """One step, for the head's own file or for an image's."""
    file = limits_path(root)
    where = on(node) if root == "/" else f"the image {root}"
    yield edited(
        job, node, file, lambda text: with_memlock(text, value), memlock_lines(value),
        f"Let processes lock memory ({value}) in {where}",
        "RDMA registers its buffers by locking them; the usual limit is too small for MPI",
    )  # fmt: skip


def with_memlock(text: str, value: str) -> str:
    """The text with exactly the two lines for everybody's memlock."""
    found = split(text)
    wanted = memlock_lines(value)
    ours = [line for line in found if _is_everybodys_memlock(line)]
    if [*map(fields, ours)] == [*map(fields, wanted)]:
        return text
    kept = [line for line in found if line not in ours]
    at = kept.index(_END) if _END in kept else len(kept)
    return joined((*kept[:at], *wanted, *kept[at:]))


def _is_everybodys_memlock(line: str) -> bool:
    words = fields(line.partition("#")[0])
    return len(words) == 4 and (words[0], words[2]) == ("*", "memlock")


def fstab_path(root: str) -> str:
    return f"{root.rstrip('/')}/etc/fstab"


def fstab_line(mount: Mount) -> str:
    fields = (mount.source, mount.target, mount.kind, mount.options)
    return " ".join((*map(octal, fields), "0", "0"))


def mounts_steps(job: PlanInput, root: str, mounts: Sequence[Mount]) -> Iterator[Step]:
    """One step for all mounts of the image.

    Raises:
        UsageError: something else is mounted there already.
    """
    file, wanted = fstab_path(root), [fstab_line(mount) for mount in mounts]
    yield edited(
        job, HEAD, file, lambda text: with_mounts(text, mounts, file), wanted,
        f"Mount {', '.join(mount.target for mount in mounts)} in the image {root}",
        "what is shared by NFS takes no memory of a node without disks",
    )  # fmt: skip


def with_mounts(text: str, mounts: Sequence[Mount], file: str) -> str:
    """The text with a line for each mount that it lacks.

    Raises:
        UsageError: something else is mounted there already.
    """
    there = {words[1]: words for words in map(fields, split(text))
             if len(words) >= 4 and not words[0].startswith("#")}  # fmt: skip
    missing = []
    for mount in mounts:
        held = there.get(octal(mount.target))
        if held is None:
            missing.append(fstab_line(mount))
        elif held[:4] != fields(fstab_line(mount))[:4]:
            raise UsageError(
                f"{file} mounts {held[0]} on {mount.target} with {held[3]} already; the description"
                f" wants {mount.source} with {mount.options}: change one of them"
            )
    if not missing:
        return text
    return joined((*split(text), *missing))
