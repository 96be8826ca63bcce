"""A run that a batch system makes: ``batch.json``, and a line of ``jobs.jsonl`` for each job."""

import msgspec

from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About

_FILE = "jobs.jsonl"
_JOBS = msgspec.json.Decoder(BatchJob)


def write_batch(directory: RunDirectory, about: About, batch: Batch) -> None:
    """What is known before the first job begins."""
    directory.write("run.json", about)
    directory.write("batch.json", batch)


def read_batch(directory: RunDirectory) -> Batch:
    """Raises:
    StoreError: the directory holds no run of a batch system.
    """
    return directory.read("batch.json", Batch)


def append_job(directory: RunDirectory, job: BatchJob) -> None:
    directory.append(_FILE, job)


def jobs(directory: RunDirectory) -> tuple[BatchJob, ...]:
    """In the order in which they were submitted; none for a run that is no batch system's.

    Each is written down before Slurm gets it, and once more with the number that Slurm gave.
    """
    found, _ = directory.read_lines(_FILE, _JOBS.decode)
    return tuple({one.folder: one for one in found}.values())
