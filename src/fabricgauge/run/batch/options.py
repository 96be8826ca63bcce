"""Options of sbatch for what is asked of Slurm.

Source: sbatch(1) of Slurm 22.05.
"""

from pathlib import Path

from fabricgauge.model.batch import Request


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
