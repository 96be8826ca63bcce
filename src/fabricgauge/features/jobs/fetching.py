"""Fetch the results of a carried job from its first node, with a small job on that node."""

import base64
import binascii
import io
import re
import tarfile
from collections.abc import Mapping

from fabricgauge.features.jobs.slurm.job_state import JobState
from fabricgauge.features.jobs.slurm.options import placing_options
from fabricgauge.features.jobs.slurm.slurm import first_node
from fabricgauge.model.batch import Request
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes import process
from fabricgauge.store.files import writing
from fabricgauge.store.run_directory import RunDirectory

#: The node may run another job before this one.
TIMEOUT_S = 3600.0
#: Largest archive: a run of 256 nodes has some MB.
MOST_BYTES = 1 << 30

#: Files of a job: those below ``raw`` and its output.
_MEMBER = re.compile(
    r"(?:raw(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,100}){2,3}|job-[0-9]+/out-[0-9]+\.txt)"
)

#: The node runs this script; $1 is the folder, which it removes after it has printed the answer.
_SCRIPT = """
if [ ! -d "$1" ] || [ -L "$1" ] || [ ! -O "$1" ]; then
    echo "no results in $1 on $(hostname)" >&2
    exit 1
fi
cd -- "$1" && tar -czf - raw | base64 && cd / && rm -rf -- "$1" && rmdir -- "${1%/*}" 2>/dev/null
exit 0
"""


def fetch_results(
    directory: RunDirectory, request: Request, base: str, states: Mapping[str, JobState]
) -> None:
    """Fetch what jobs that are over left on their first nodes, unless it is here already.

    Raises:
        CannotRun: a job's first node is unknown, or did not give the results.
    """
    here = {
        file.read_text("utf-8", "replace").strip()
        for file in (directory.path / "raw").glob("attempt-*/job")
    }
    for job, state in states.items():
        if state.over and job not in here:
            _fetch(directory, request, f"{base}/{directory.identity}", job)


def _fetch(directory: RunDirectory, request: Request, folder: str, job: str) -> None:
    node = first_node(job)
    if not node:
        raise CannotRun(
            f"Slurm no longer knows the nodes of job {job}; its results are on its first node, in"
            f" {folder}/raw"
        )
    argv = (
        "srun", f"--nodelist={node}", "--nodes=1", "--ntasks=1", "--time=10", "--mpi=none",
        "--quiet", "--job-name=fabricgauge-fetch", *placing_options(request),
        "sh", "-c", _SCRIPT, "sh", folder,
    )  # fmt: skip
    completed = process.run(argv, timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES)
    if completed.exit_code != 0 or not completed.stdout.strip():
        lines = completed.stderr.split("\n") or [""]
        reason = " ".join(line for line in lines if line.strip())[:300] or "no output"
        raise CannotRun(
            f"the results of job {job} were not fetched from {node}: {reason}. They stay there in"
            f" {folder}; fabricgauge collect {directory.path} tries again"
        )
    unpack(directory, completed.stdout)


def unpack(directory: RunDirectory, text: str) -> None:
    """Write the files of an archive in base64 to the run directory; others are left out.

    Raises:
        CannotRun: it is no archive.
    """
    try:
        packed = io.BytesIO(base64.b64decode("".join(text.split()), validate=True))
        with tarfile.open(fileobj=packed, mode="r:gz") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isreg() else None
                if content is not None and is_result(member.name):
                    path = directory.path / member.name
                    writing.make_folder(path.parent, directory.path)
                    writing.write_whole(path, content.read(), directory.path)
    except (binascii.Error, tarfile.TarError, EOFError, OSError) as error:
        raise CannotRun(f"the results are damaged: {error}") from error


def is_result(name: str) -> bool:
    """Check if a file of an archive belongs to a job's results, by its name alone."""
    return _MEMBER.fullmatch(name) is not None
