"""Packages of the head and of an image; pure. dnf(8) of dnf 4, rpm(8) of rpm 4.14."""

from collections.abc import Iterator, Sequence

from fabricgauge.configure.job import HEAD, Job
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Step, Verification
from fabricgauge.model.finding import Command


def asks(root: str, packages: Sequence[str]) -> Iterator[Command]:
    """One question for each package, so that it is known which are missing."""
    for package in packages:
        yield _query(root, (package,))


def steps(job: Job, root: str, packages: Sequence[str]) -> Iterator[Step]:
    """One step for those that are missing, or for all where that could not be asked."""
    replies = {package: job.reply(_query(root, (package,))) for package in packages}
    missing = tuple(
        package
        for package, reply in replies.items()
        if isinstance(reply, Skipped) or reply.exit_code != 0
    )
    where = f"the image {root}" if root != "/" else "the head"
    evidence = "" if missing else f"rpm knows {', '.join(packages)} in {where}"
    chosen = missing or tuple(packages)
    asked = not any(isinstance(reply, Skipped) for reply in replies.values())
    yield Step(
        f"Install {', '.join(chosen)} in {where}",
        "the drivers, libraries and programs that the networks and their MPI need",
        (Command(HEAD, ("dnf", "-y", *_rooted(root), "install", *chosen)),),
        (Verification(_query(root, chosen), ""),),
        (Command(HEAD, ("dnf", "-y", *_rooted(root), "remove", *chosen)),),
        undo_note="" if asked else "removes them also if they were there before",
        fulfilled=evidence,
    )


def _query(root: str, packages: Sequence[str]) -> Command:
    below = () if root == "/" else ("--root", root)
    return Command(HEAD, ("rpm", *below, "-q", "--", *packages))


def _rooted(root: str) -> tuple[str, ...]:
    return () if root == "/" else (f"--installroot={root}",)
