"""A run that a batch system makes: ``batch.json``, and a line of ``jobs.jsonl`` for each job."""

import msgspec

from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.errors import StoreError
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About

_FILE, _BATCH = "jobs.jsonl", "batch.json"
_JOBS = msgspec.json.Decoder(BatchJob)


def write_batch(directory: RunDirectory, about: About, batch: Batch) -> None:
    """What is known before the first job begins."""
    directory.write("run.json", about)
    directory.write(_BATCH, batch)


def read_batch(directory: RunDirectory) -> Batch:
    """Raises:
    StoreError: the directory holds no run of a batch system.
    """
    if is_check(directory):
        raise StoreError(
            f"{directory.path} is no run of Slurm's jobs; what it has left is measured with"
            f" fabricgauge check --resume {directory.path}"
        )
    return directory.read(_BATCH, Batch)


def is_check(directory: RunDirectory) -> bool:
    """Whether it is a run that no batch system makes."""
    return (directory.path / "run.json").exists() and not (directory.path / _BATCH).exists()


def append_job(directory: RunDirectory, job: BatchJob) -> None:
    directory.append(_FILE, job)


def jobs(directory: RunDirectory) -> tuple[BatchJob, ...]:
    """In the order in which they were submitted; none for a run that is no batch system's.

    Each is written down before Slurm gets it, and once more with the number that Slurm gave.
    """
    found, _ = directory.read_lines(_FILE, _JOBS.decode)
    return tuple({one.folder: one for one in found}.values())
