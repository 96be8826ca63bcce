"""All changes of an image, and what its nodes have once they run it; pure."""

from collections.abc import Iterator

from fabricgauge.configure import limits, mounts, packages
from fabricgauge.configure.description import Image
from fabricgauge.configure.files import lines_in
from fabricgauge.configure.job import HEAD, Job
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command


def asks(image: Image) -> Iterator[Command]:
    yield from packages.asks(image.root, image.packages)
    if image.memlock:
        yield from limits.asks(HEAD, image.root)
    if image.mounts:
        yield from mounts.asks(image.root)


def steps(job: Job, image: Image) -> Iterator[Step]:
    """In the order in which they do not disturb each other: packages may bring files."""
    if image.packages:
        yield from packages.steps(job, image.root, image.packages)
    if image.memlock:
        yield from limits.steps(job, HEAD, image.root, image.memlock)
    if image.mounts:
        yield from mounts.steps(job, image.root, image.mounts)
    for name in image.services:
        yield _enabled(image.root, name)


def changed_files(image: Image) -> tuple[str, ...]:
    """What in the image is newer than its packed form while that is out of date."""
    return (
        *(("/var/lib/rpm",) if image.packages else ()),
        *((f"/{limits.FILE}",) if image.memlock else ()),
        *(("/etc/fstab",) if image.mounts else ()),
        *(("/etc/systemd/system",) if image.services else ()),
    )


def seen_on(image: Image, node: str) -> Iterator[Verification]:
    """What a node has when it runs the image as it is wanted."""
    if image.packages:
        yield Verification(Command(node, ("rpm", "-q", "--", *image.packages)), "")
    if image.memlock:
        yield lines_in(node, limits.path("/"), limits.lines(image.memlock))
    if image.mounts:
        yield lines_in(node, mounts.path("/"), [mounts.line(one) for one in image.mounts])
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
