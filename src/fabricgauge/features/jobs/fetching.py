"""Fetch the results of a carried job from its first node, with a small job on that node."""

import base64
import binascii
import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabricgauge.features.jobs.numbers import number_by_folder
from fabricgauge.features.jobs.slurm.script import first_attempt
from fabricgauge.features.jobs.slurm.slurm import (
    GaveUp,
    JobState,
    find_given_up,
    first_node,
    placing_options,
)
from fabricgauge.model.batch import Request
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes import process
from fabricgauge.store.files import writing
from fabricgauge.store.run_directory import RunDirectory

#: The node may run another job before this one.
TIMEOUT_S = 3600.0
#: Largest archive: a run of 256 nodes has some MB.
MOST_BYTES = 1 << 30
#: The folder in ``raw`` with the archives of jobs, as the nodes gave them.
FETCHED = "fetched"

#: What readers of a damaged archive raise.
_DAMAGE = (binascii.Error, tarfile.TarError, zlib.error, EOFError)

#: Files of a job: those below ``raw`` and its output.
_MEMBER = re.compile(
    r"(?:raw(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,100}){2,3}|job-[0-9]+/out-[0-9]+\.txt)"
)

#: The node runs this script; $1 is the job, the others are folders that may have its results. tar's
#: status is the script's: a pipe would hide it.
_PACK = """
job=$1
shift
for folder; do
    [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ] || continue
    cat "$folder"/raw/attempt-*/job 2>/dev/null | grep -qx -- "$job" || continue
    cd -- "$folder" || exit 1
    exec 4>&1
    status=$({ { tar -czf - raw; echo "$?" >&3; } | base64 >&4; } 3>&1) || exit 1
    exit "$status"
done
echo "no results in $* on $(hostname)" >&2
exit 1
"""
_NONE = "no results in "
#: The node runs this script once the results are stored; the words are those of _PACK.
_REMOVE = """
job=$1
shift
for folder; do
    [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ] || continue
    cat "$folder"/raw/attempt-*/job 2>/dev/null | grep -qx -- "$job" || continue
    rm -rf -- "$folder" || exit 1
    rmdir -- "${folder%/*}" 2>/dev/null
done
exit 0
"""


class NoResults(CannotRun):
    """A job left nothing on the first node of its last start."""


def fetch_results(
    directory: RunDirectory, request: Request, bases: Sequence[str], states: Mapping[str, JobState]
) -> tuple[str, ...]:
    """Fetch what jobs that are over left on their first nodes, unless it is here already.

    It lies below one of ``bases``. A node's copy is removed once its archive is stored here;
    returns why copies stay on nodes. A job whose first node could hold nothing counts as a start,
    unless Slurm started it once more, on another node that has results.

    Raises:
        CannotRun: a job's first node is unknown, or did not give the results.
    """
    folders, remains = tuple(f"{base}/{directory.identity}" for base in bases), []
    for job, state in states.items():
        files = (directory.path / "raw").glob("attempt-*/job")
        if not state.over or job in {file.read_text("utf-8", "replace").strip() for file in files}:
            continue
        given_up, node = find_given_up(job), ""
        try:
            if not _archive_of(directory, job).exists():
                node = _store_archive(directory, request, folders, job, given_up)
        except NoResults:
            if not given_up:
                raise
            _store_start(directory, job, given_up)
            continue
        unpack(directory, _archive_of(directory, job))
        if trouble := _remove(request, folders, job, node):
            remains.append(trouble)
    return tuple(remains)


def _store_start(directory: RunDirectory, job: str, given_up: GaveUp) -> None:
    """Write what the job would have written, had its first node had room."""
    numbers = number_by_folder(directory)
    folder = next(folder for folder, number in numbers.items() if number == job)
    place = directory.path / "raw" / f"attempt-{first_attempt(folder)}"
    nodes, unable = "\n".join(given_up.nodes), f"{given_up.node} {given_up.reason}"
    writing.make_folder(place, directory.path)
    for name, text in {"nodes": nodes, "unable": unable, "folder": folder, "job": job}.items():
        writing.write_whole(place / name, f"{text}\n".encode(), directory.path)


def _archive_of(directory: RunDirectory, job: str) -> Path:
    return directory.path / "raw" / FETCHED / f"job-{job}.tar.gz"


def _store_archive(
    directory: RunDirectory, request: Request, folders: Sequence[str], job: str,
    given_up: GaveUp | None,
) -> str:  # fmt: skip
    """Store the archive of a job's results in the run directory; return the node that gave it."""
    node = first_node(job)
    if not node:
        raise CannotRun(
            f"Slurm no longer knows the nodes of job {job}; its results are on its first node, in"
            f" {' or '.join(folders)}"
        )
    if given_up and given_up.node == node:
        raise NoResults(f"job {job} gave up on {node}: {given_up.reason}")
    completed = process.run(
        _on_node(request, node, _PACK, job, *folders), timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES
    )
    places = " or ".join(folders)
    stay = f"They stay there in {places}; fabricgauge collect {directory.path} tries again"
    if completed.exit_code != 0 or not completed.stdout.strip():
        reason = _reason(completed.stderr)
        if any(line.startswith(_NONE) for line in completed.stderr.split("\n")):
            raise NoResults(
                f"job {job} left {reason}. It may have given up there; Slurm keeps the reason for"
                " MinJobAge, or with AccountingStoreFlags=job_comment"
            )
        raise CannotRun(f"the results of job {job} were not fetched from {node}: {reason}. {stay}")
    try:
        content = base64.b64decode("".join(completed.stdout.split()), validate=True)
        _check(content)
        path = _archive_of(directory, job)
        writing.make_folder(path.parent, directory.path)
        writing.write_whole(path, content, directory.path)
    except (*_DAMAGE, OSError) as error:
        raise CannotRun(
            f"the results of job {job} from {node} were not stored: {error}. {stay}"
        ) from error
    return node


def _check(content: bytes) -> None:
    """Read an archive to its end: gzip's checksum comes last, after the end of the last file."""
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
        while packed.read(1 << 20):
            pass
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        if not any(is_result(member.name) for member in tar):
            raise tarfile.TarError("the archive has no results")


def _remove(request: Request, folders: Sequence[str], job: str, node: str) -> str:
    """Remove the results from a job's first node; return why they stay there, if they do."""
    node = node or first_node(job)
    if not node:
        return f"the results of job {job} are stored; a copy may remain on its first node"
    completed = process.run(_on_node(request, node, _REMOVE, job, *folders), timeout_s=TIMEOUT_S)
    if completed.exit_code == 0:
        return ""
    reason = _reason(completed.stderr)
    return f"the results of job {job} are stored; a copy remains on {node}: {reason}"


def _on_node(request: Request, node: str, script: str, *words: str) -> tuple[str, ...]:
    return (
        "srun", f"--nodelist={node}", "--nodes=1", "--ntasks=1", "--time=10", "--mpi=none",
        "--quiet", "--job-name=fabricgauge-fetch", *placing_options(request),
        "sh", "-c", script, "sh", *words,
    )  # fmt: skip


def _reason(stderr: str) -> str:
    lines = stderr.split("\n")
    return " ".join(line for line in lines if line.strip())[:300] or "no output"


def unpack(directory: RunDirectory, archive: Path) -> None:
    """Write the files of an archive to the run directory; others are left out.

    The files that name the jobs come last: only with them the results count as fetched.

    Raises:
        CannotRun: it is no archive, or a file cannot be written.
    """
    try:
        with tarfile.open(archive, mode="r:gz") as tar:
            members = [member for member in tar if member.isreg() and is_result(member.name)]
            for member in sorted(members, key=lambda member: member.name.endswith("/job")):
                content = tar.extractfile(member)
                if content is not None:
                    path = directory.path / member.name
                    writing.make_folder(path.parent, directory.path)
                    writing.write_whole(path, content.read(), directory.path)
    except (*_DAMAGE, OSError) as error:
        raise CannotRun(f"the results in {archive} were not unpacked: {error}") from error


def is_result(name: str) -> bool:
    """Check if a file of an archive belongs to a job's results, by its name alone."""
    return _MEMBER.fullmatch(name) is not None
