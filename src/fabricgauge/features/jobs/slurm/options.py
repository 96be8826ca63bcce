"""Build and check the options of sbatch.

Source: sbatch(1) of Slurm 22.05.
"""

from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.batch import Request
from fabricgauge.model.errors import UsageError

#: Options with which sbatch submits many jobs or none, or returns late; with their short forms.
_FORBIDDEN = {
    "--array": "a", "--wrap": "", "--wait": "W", "--test-only": "", "--help": "h", "--usage": "",
    "--version": "V",
}  # fmt: skip


def check_options(words: Sequence[str]) -> tuple[str, ...]:
    """Return ``words`` if each is an option with which sbatch submits one job at once.

    Raises:
        UsageError: no option, or a forbidden one. sbatch also accepts beginnings of long names.
    """
    for word in words:
        name = word.partition("=")[0]
        if not word.startswith("-") or name in ("-", "--"):
            raise UsageError(
                f"--sbatch {word!r:.200}: write one option as one word, e.g. --sbatch=--mem=0"
            )
        for long, short in _FORBIDDEN.items():
            if long.startswith(name) or (short and word.startswith(f"-{short}")):
                raise UsageError(
                    f"--sbatch {word!r:.200}: sbatch's {long} is not possible, since submit waits"
                    " for one job"
                )
    return tuple(words)


def clusters(words: Sequence[str]) -> str:
    """Return the clusters in ``words``, separated by commas; empty for the local cluster."""
    names = ""
    for word in words:
        name, _, value = word.partition("=")
        if name in ("--cluster", "--clusters"):
            names = value
        elif word.startswith("-M"):
            names = word[2:].strip()
    return names


def placing_options(request: Request) -> tuple[str, ...]:
    """Return the options that decide where, and on whose account, any job of a request runs."""
    names = ("partition", "reservation", "account", "qos")
    return tuple(f"--{name}={value}" for name in names if (value := getattr(request, name)))


def build_options(request: Request, minutes: int, folder: Path) -> tuple[str, ...]:
    """Return one word per option; ``minutes`` is the time limit unless the request has one.

    The job's output goes to ``folder``, if the nodes share it; percent signs in its path are
    doubled for Slurm.
    """
    values = {
        "job-name": request.job_name,
        "partition": request.partition,
        "nodelist": ",".join(request.nodelist),
        "exclude": ",".join(request.exclude),
        "time": request.time or str(minutes),
        "reservation": request.reservation,
        "account": request.account,
        "qos": request.qos,
        "constraint": request.constraint,
        "output": "/dev/null" if request.carried else f"{_escaped(folder)}/out-%j.txt",
        "chdir": "/" if request.carried else "",
    }
    return (
        f"--nodes={request.nodes}",
        f"--ntasks-per-node={request.ppn}",
        "--open-mode=append",
        *(("--exclusive",) if request.exclusive else ()),
        *(f"--{name}={value}" for name, value in values.items() if value),
        *request.further,
    )


def _escaped(folder: Path) -> str:
    return str(folder).replace("%", "%%")
