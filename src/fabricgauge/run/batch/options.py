"""Options of sbatch for what is asked of Slurm.

Source: sbatch(1) of Slurm 22.05.
"""

from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.batch import Request
from fabricgauge.model.errors import UsageError

#: Options that make of one job many, or of sbatch a program that submits none or returns late.
_NOT_OURS = {
    "--array": "a", "--wrap": "", "--wait": "W", "--test-only": "", "--help": "h", "--usage": "",
    "--version": "V",
}  # fmt: skip


def further(words: Sequence[str]) -> tuple[str, ...]:
    """``words`` as they are, if each is an option that leaves the job one that can be awaited.

    Raises:
        UsageError: no option, or one of the others. sbatch takes beginnings of long names too.
    """
    for word in words:
        name = word.partition("=")[0]
        if not word.startswith("-") or name in ("-", "--"):
            raise UsageError(
                f"--sbatch {word!r:.200}: one option in one word is wanted, as in --sbatch=--mem=0"
            )
        for long, short in _NOT_OURS.items():
            if long.startswith(name) or (short and word.startswith(f"-{short}")):
                raise UsageError(
                    f"--sbatch {word!r:.200}: a submitted check is one job that is waited for;"
                    f" sbatch's {long} is not possible"
                )
    return tuple(words)


def clusters(words: Sequence[str]) -> str:
    """The clusters that ``words`` let Slurm choose from, with commas between; empty for our own."""
    said = ""
    for word in words:
        name, _, value = word.partition("=")
        if name in ("--cluster", "--clusters"):
            said = value
        elif word.startswith("-M"):
            said = word[2:].strip()
    return said


def options_of(request: Request, minutes: int, folder: Path) -> tuple[str, ...]:
    """One word per option; ``minutes`` is the time limit unless the request names one.

    What the job prints goes to ``folder``, in which a sign of percent is none of Slurm's.
    """
    said = {
        "job-name": request.job_name,
        "partition": request.partition,
        "nodelist": ",".join(request.nodelist),
        "exclude": ",".join(request.exclude),
        "time": request.time or str(minutes),
        "reservation": request.reservation,
        "account": request.account,
        "qos": request.qos,
        "constraint": request.constraint,
        "output": f"{str(folder).replace('%', '%%')}/out-%j.txt",
    }
    return (
        f"--nodes={request.nodes}",
        f"--ntasks-per-node={request.ppn}",
        "--open-mode=append",
        *(("--exclusive",) if request.exclusive else ()),
        *(f"--{name}={value}" for name, value in said.items() if value),
        *request.further,
    )
