"""Packages, locked memory, mounts and services of an image; of the head, whose root is "/"; pure.

Sources: dnf(8) of dnf 4, rpm(8) of rpm 4.14; limits.conf(5) of Linux-PAM 1.5: domain, type (soft,
hard or "-" for both), item, value; of two lines for the same the later one counts, and those of
limits.d come after; fstab(5) of util-linux 2.38: blanks and backslashes in a field are written as
octal escapes.
"""

from collections.abc import Iterator, Sequence

from fabricgauge.configure.description import Image, Mount
from fabricgauge.configure.files import edited, fields, joined, lines_in, octal, questions, split
from fabricgauge.configure.job import HEAD, Draft, on
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.errors import UsageError
from fabricgauge.model.finding import Command


def asks(image: Image) -> Iterator[Command]:
    """One question for each package, so that it is known which are missing."""
    yield from (_query(image.root, (package,)) for package in image.packages)
    if image.memlock:
        yield from questions(HEAD, limits_path(image.root))
        yield _later(image.root)
    if image.mounts:
        yield from questions(HEAD, fstab_path(image.root))


def steps(job: Draft, image: Image) -> Iterator[Step]:
    """In the order in which they do not disturb each other: packages may bring files.

    Raises:
        UsageError: something else is mounted already where a mount is wanted.
    """
    root = image.root
    where = f"the image {root}" if root != "/" else on(HEAD)
    if image.packages:
        yield _packages(job, image, where)
    if image.memlock:
        yield edited(
            job, HEAD, limits_path(root), lambda text: with_memlock(text, image.memlock),
            memlock_lines(image.memlock), f"Let processes lock memory ({image.memlock}) in {where}",
            "RDMA registers its buffers by locking them; the usual limit is too small for MPI",
        )  # fmt: skip
    if image.mounts:
        file, wanted = fstab_path(root), [fstab_line(mount) for mount in image.mounts]
        yield edited(
            job, HEAD, file, lambda text: with_mounts(text, image.mounts, file), wanted,
            f"Mount {', '.join(mount.target for mount in image.mounts)} in {where}",
            "what is shared by NFS takes no memory of a node without disks",
        )  # fmt: skip
    for name in image.services:
        enable, enabled, disable = (
            Command(HEAD, ("systemctl", f"--root={root}", verb, name))
            for verb in ("enable", "is-enabled", "disable")
        )
        yield Step(
            f"Have {name} started by {where}",
            "what is switched on on a node without disks is forgotten at its next start",
            (enable,), (Verification(enabled, "\nenabled\n"),), (disable,),
        )  # fmt: skip


def packed(image: Image, words: tuple[str, ...]) -> Verification:
    """A packed form that is newer than what was changed: ``words`` have find(1) find it."""
    files = {
        "/var/lib/rpm": image.packages, f"/{LIMITS_FILE}": image.memlock,
        "/etc/fstab": image.mounts, "/etc/systemd/system": image.services,
    }  # fmt: skip
    root = image.root.rstrip("/")
    than = [word for file, part in files.items() if part for word in ("-newer", f"{root}{file}")]
    return Verification(Command(HEAD, ("find", *words, *than)), "/")


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


def _packages(job: Draft, image: Image, where: str) -> Step:
    """One step for those that are missing, or for all where that could not be asked."""
    root, packages = image.root, image.packages
    replies = {package: job.reply(_query(root, (package,))) for package in packages}
    missing = tuple(
        package
        for package, reply in replies.items()
        if isinstance(reply, Skipped) or reply.exit_code != 0
    )
    rooted = () if root == "/" else (f"--installroot={root}",)
    chosen = missing or packages
    asked = not any(isinstance(reply, Skipped) for reply in replies.values())
    # None has been installed since the plan was made: it would be removed by the undoing.
    there = _rpm(root, "-qa", "--qf", "there: %{NAME}\\n", "--", *chosen)
    return Step(
        f"Install {', '.join(chosen)} in {where}",
        "the drivers, libraries and programs that the networks and their MPI need",
        (Command(HEAD, ("dnf", "-y", *rooted, "install", *chosen)),),
        (Verification(_query(root, chosen), ""),),
        (_rpm(root, "-e", "--", *chosen),) if asked else (),
        undo_note=_KEPT if asked else _UNKNOWN,
        fulfilled="" if missing else f"rpm knows {', '.join(packages)} in {where}",
        before=(Verification(there, "\nthere: ", absent=True),) if asked else (),
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


def notes(job: Draft, image: Image) -> Iterator[str]:
    """Lines of limits.d that win over what is written."""
    for line in split(job.output(_later(image.root))) if image.memlock else ():
        if _is_everybodys_memlock(line):
            yield (
                f"{_folder(image.root)} of {on(HEAD)} has {' '.join(fields(line))!r}, which is read"
                " later and wins: change it there"
            )


def _folder(root: str) -> str:
    return f"{limits_path(root).removesuffix('.conf')}.d"


def _later(root: str) -> Command:
    words = ("-name", "*.conf", "-exec", "cat", "--", "{}", "+")
    return Command(HEAD, ("find", _folder(root), *words))


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
