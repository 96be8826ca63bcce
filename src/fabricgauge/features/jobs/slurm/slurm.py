"""Call Slurm's programs: options of sbatch, submitting, and the states of jobs.

Sources: sbatch(1), squeue(1), sacct(1) of Slurm 22.05; "Job State Codes", "Job Reason Codes".
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge.model.batch import Request
from fabricgauge.model.errors import CannotRun, ToolMissing, UsageError
from fabricgauge.nodes import process
from fabricgauge.nodes.launch.environment import SLURM_CREDENTIAL, withheld_names
from fabricgauge.nodes.launch.launchers.nodes import expand, require_host_names

#: States of a job that has not ended.
_LIVE = frozenset({
    "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "REQUEUED",
    "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT", "SPECIAL_EXIT",
    "RESIZING",
    "REVOKED",  # another cluster of the federation runs it
})  # fmt: skip

#: Reasons of jobs that do not start by themselves.
_STUCK = {
    "PartitionConfig": "its partition does not have the requested resources",
    "PartitionNodeLimit": "its partition does not allow this number of nodes, or they are down",
    "PartitionTimeLimit": "its partition allows less time; request less with -t",
    "PartitionDown": "its partition starts no jobs now",
    "PartitionInactive": "its partition starts no jobs now",
    "AssociationTimeLimit": "its account allows less time; request less with -t",
    "QOSTimeLimit": "its quality of service allows less time; request less with -t",
    "BadConstraints": "no node has the requested features",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its quality of service is not valid",
    "DependencyNeverSatisfied": "a job that it depends on cannot succeed any more",
    "JobHeldUser": "it is held; release it with scontrol release",
    "JobHeldAdmin": "an administrator holds it",
    "JobHoldMaxRequeue": "it was requeued too often and is held; release it with scontrol release",
    "ReqNodeNotAvail": "a requested node is down, drained or reserved",
}
#: Reasons that concern the nodes of one job: jobs for other nodes may start.
_NODE_REASONS = frozenset({"ReqNodeNotAvail", "BadConstraints", "PartitionNodeLimit"})


#: States of jobs whose ranks Slurm ended: none of them is at fault.
_STOPPED = frozenset({"CANCELLED", "TIMEOUT", "PREEMPTED", "DEADLINE"})


class JobState(msgspec.Struct, frozen=True):
    """Slurm's state of a job, and the reason why it waits or ended.

    ``known`` is false if the controller did not answer.
    """

    state: str
    reason: str = ""
    known: bool = True

    @property
    def over(self) -> bool:
        return self.known and self.state not in _LIVE

    @property
    def stopped(self) -> bool:
        """Check whether Slurm ended the job at a user's word, or at its time limit."""
        return self.state in _STOPPED

    @property
    def stuck(self) -> str:
        """Return why the job may wait without end; empty if it only waits for its turn."""
        return _STUCK.get(self._reason_code, "") if self.state == "PENDING" else ""

    @property
    def stuck_alone(self) -> bool:
        """Check whether the job waits because of its nodes, so that other jobs may start."""
        return bool(self.stuck) and self._reason_code in _NODE_REASONS

    @property
    def _reason_code(self) -> str:
        # More text may follow: "ReqNodeNotAvail, UnavailableNodes:c1".
        return self.reason.partition(",")[0]

    def __str__(self) -> str:
        reason = self.reason if self.reason not in ("", "None") else ""
        return f"{self.state.lower()} ({reason})" if reason else self.state.lower()


#: State of a job that neither the controller nor the accounting knows.
FORGOTTEN = JobState("FORGOTTEN", "Slurm does not know it any more")
UNKNOWN = JobState("UNKNOWN", known=False)


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
        "output": "/dev/null"
        if request.carried
        else f"{str(folder).replace('%', '%%')}/out-%j.txt",
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


#: Slurm's programs wait up to 60 s for a controller that is busy or restarts.
TIMEOUT_S = 90.0

#: Jobs in one query. A word of a command line has at most 128 KiB (execve(2)), a number and its
#: comma have 11 characters.
MOST_ASKED = 1000

#: Messages of sbatch about too many jobs, by its limits or by a site's policy.
_TOO_MANY = re.compile(
    r"MaxSubmit|MaxJobCount|submit limit|job submit|Job violates accounting/QOS policy",
    re.IGNORECASE,
)

#: Messages about a controller that does not run.
_AWAY = re.compile(
    r"temporarily unable to accept job|Unable to contact slurm controller", re.IGNORECASE
)

#: The name of a limit. "Job violates accounting/QOS policy (job submit limit, user's size and/or
#: time limits)" follows each name; only limits on submitting concern the number of jobs
#: (slurm_protocol_defs.c of Slurm 22.05, job_reason_string()).
_LIMIT = re.compile(r"\b(?:QOS|Assoc)[A-Z]\w*")

#: Messages about a lost answer: the controller may have accepted the job.
_UNCLEAR = re.compile(r"Socket timed out|Zero Bytes were transmitted", re.IGNORECASE)

#: sbatch's answer, on a line of its own: a site's wrapper may print other lines or drop --parsable.
_ACCEPTED = re.compile(r"(?:Submitted batch job )?(\d+)(?:;(\S+)| on cluster (\S+))?")

#: Prefixes of variables that concern only the present job, and variables that concern the site.
_JOB_PREFIXES = ("SLURM_", "SLURMD_", "SRUN_", "PMI_", "PMIX_")
_SITE_VARIABLES = frozenset({"SLURM_CONF", "SLURM_CLUSTERS"})

#: Variables of a user's profile with which sbatch would return late or submit many jobs.
_FORBIDDEN_VARIABLES = frozenset({"SBATCH_WAIT", "SBATCH_ARRAY_INX"})


#: What a carried job tells Slurm if its first node can hold nothing: give_up in steps.sh.
_GAVE_UP = re.compile(r"(?:^|\s)Comment=fabricgauge: (\S+): ([^;]{1,1000});")
_NODES = re.compile(r"(?:^|\s)NodeList=(?!None\b|\(null\))(\S+)")
_BATCH_HOST = re.compile(r"(?:^|\s)BatchHost=(\S+)")

#: Prefix of squeue's line above the jobs of a cluster.
_TITLE = "CLUSTER: "


class NotNow(CannotRun):
    """Slurm accepts no further job of this user now, but may later."""


class Away(NotNow):
    """The controller does not run, or is too busy to accept a job."""


class Unclear(CannotRun):
    """Unknown whether Slurm has accepted a job."""


class NoAnswer(CannotRun):
    """squeue did not list the jobs."""


class Submitted(msgspec.Struct, frozen=True):
    """Slurm's number of a job, and its cluster if it is not the local one."""

    number: str
    cluster: str = ""


def submit(options: Sequence[str], script: Path) -> Submitted:
    """Submit a script.

    Raises:
        ToolMissing: sbatch is not installed.
        NotNow: a limit on the number of jobs; ``Away`` if the controller accepts no job.
        Unclear: sbatch did not report whether Slurm accepted the job.
        CannotRun: Slurm refused; the message quotes it.
    """
    argv = ("sbatch", "--parsable", *options, str(script))
    without = foreign(os.environ) | (withheld_names(os.environ) - {SLURM_CREDENTIAL})
    completed = process.run(argv, timeout_s=TIMEOUT_S, without=without)
    output = " ".join((completed.stderr or completed.stdout).split()) or "no output"
    if completed.exit_code == 0:
        for line in reversed(completed.stdout.splitlines()):
            if match := _ACCEPTED.fullmatch(line.strip()):
                return Submitted(match[1], match[2] or match[3] or "")
    if completed.exit_code == 0 or completed.timed_out or _UNCLEAR.search(output):
        raise Unclear(
            f"unknown whether Slurm has accepted the job; check with squeue. sbatch: {output:.500}"
        )
    raise _refusal(output)(f"sbatch refused the job: {output}")


def _refusal(output: str) -> type[CannotRun]:
    if _AWAY.search(output):
        return Away
    limits = _LIMIT.findall(output)
    if limits and not any("Submit" in limit for limit in limits):
        return CannotRun
    return NotNow if _TOO_MANY.search(output) else CannotRun


def foreign(environment: Mapping[str, str]) -> frozenset[str]:
    """Return variables that a new job must not inherit from the job that submits it.

    Its steps would read them: srun fails if two jobs state the memory in two ways.
    """
    inside_job = "SLURM_JOB_ID" in environment
    return _FORBIDDEN_VARIABLES | {
        name
        for name in environment
        if inside_job and name.startswith(_JOB_PREFIXES) and name not in _SITE_VARIABLES
    }


def states(jobs: Sequence[str], cluster: str = "") -> dict[str, JobState]:
    """Return the state of each job; one query covers ``MOST_ASKED`` jobs.

    ``cluster`` has the jobs; empty for the local cluster.
    """
    parts = (jobs[first : first + MOST_ASKED] for first in range(0, len(jobs), MOST_ASKED))
    return {job: state for part in parts for job, state in _query_states(part, cluster).items()}


def _query_states(jobs: Sequence[str], cluster: str) -> dict[str, JobState]:
    argv = (
        "squeue", *_cluster_option(cluster), "--noheader", "--states=all", "--format=%i|%T|%r",
        f"--jobs={','.join(jobs)}",
    )  # fmt: skip
    completed = process.run(argv, timeout_s=TIMEOUT_S)
    listed = dict(_parse_states(completed.stdout.splitlines()))
    missing = [job for job in jobs if job not in listed]
    if completed.exit_code == 0 or "Invalid job id" in completed.stderr:
        # Lines that are no jobs are no answer: then only the accounting can report an end.
        unparsed = any(map(_is_unparsed, completed.stdout.splitlines()))
        default = UNKNOWN if unparsed else FORGOTTEN
        return {**listed, **_query_accounting(missing, cluster, default)}
    return {job: listed.get(job, UNKNOWN) for job in jobs}


def scripts(clusters: str = "") -> dict[str, Submitted]:
    """Return the jobs of this user that Slurm still knows, by the paths of their scripts.

    ``clusters`` are queried, separated by commas; empty for sbatch's own choice.

    Raises:
        ToolMissing: squeue is not installed.
        NoAnswer: squeue did not answer.
    """
    clusters = clusters or os.environ.get("SBATCH_CLUSTERS", "")  # squeue does not read it
    option = _cluster_option(clusters)
    argv = ("squeue", *option, "--me", "--noheader", "--states=all", "--format=%i|%o")
    completed = process.run(argv, timeout_s=TIMEOUT_S)
    lines = completed.stdout.splitlines()
    if completed.exit_code != 0 or any(map(_is_unparsed, lines)):
        output = " ".join((completed.stderr or completed.stdout).split()) or "no output"
        raise NoAnswer(f"squeue did not list this user's jobs: {output:.500}")
    cluster = "" if "," in clusters else clusters
    jobs: dict[str, Submitted] = {}
    for line in lines:
        if line.startswith(_TITLE):
            cluster = line.removeprefix(_TITLE).strip()
        number, _, script = line.strip().partition("|")
        if number.isdecimal():
            jobs[script] = Submitted(number, cluster)
    return jobs


def lost_nodes(nodes: Sequence[str]) -> dict[str, str]:
    """Return Slurm's state of each node that is down, failed or does not respond (``*``).

    Source: sinfo(1) of Slurm 22.05, "Node State Codes". Empty if sinfo does not answer.
    """
    argv = ("sinfo", "--Node", "--noheader", "--format=%N %T", f"--nodes={','.join(nodes)}")
    rows = (line.split() for line in _output_if_installed(argv).splitlines())
    states = {row[0]: row[1] for row in rows if len(row) == 2}
    lost = {node: state for node, state in states.items() if state.startswith(("down", "fail"))}
    return lost | {node: state for node, state in states.items() if state.endswith("*")}


class GaveUp(msgspec.Struct, frozen=True):
    """Why a job's first node could hold nothing; ``nodes`` are all nodes of the job."""

    node: str
    reason: str
    nodes: tuple[str, ...]


def find_given_up(job: str) -> GaveUp | None:
    """Return why a carried job gave up, None if it did not or Slurm has forgotten it."""
    shown = _show_job(job)
    comment, nodes = _GAVE_UP.search(shown), _NODES.search(shown)
    return GaveUp(comment[1], comment[2], expand(nodes[1])) if comment and nodes else None


def first_node(job: str) -> str:
    """Return the node on which a job's script ran, empty if Slurm has forgotten it."""
    shown = _show_job(job)
    if match := _BATCH_HOST.search(shown):
        return require_host_names([match[1]])[0]
    nodes = _NODES.search(shown)
    return expand(nodes[1])[0] if nodes else ""


def _show_job(job: str) -> str:
    """Return scontrol's line about a job; once it has forgotten the job, the like from sacct.

    Sources: scontrol(1), ``BatchHost``; sacct(1), ``NodeList``, and ``Comment``, which is empty
    without ``AccountingStoreFlags=job_comment``, in Slurm 22.05.
    """
    shown = process.run(("scontrol", "--oneliner", "show", "job", job), timeout_s=TIMEOUT_S).stdout
    if _NODES.search(shown) or _BATCH_HOST.search(shown):
        return shown
    argv = ("sacct", "-n", "-X", "-P", "-o", "NodeList,Comment", "-j", job)
    nodes, _, comment = _output_if_installed(argv).strip().partition("|")
    return f"NodeList={nodes} Comment={comment}"


def _output_if_installed(argv: Sequence[str]) -> str:
    try:
        return process.run(argv, timeout_s=TIMEOUT_S).stdout
    except ToolMissing:
        return ""


def _cluster_option(cluster: str) -> tuple[str, ...]:
    return (f"--clusters={cluster}",) if cluster else ()


def _query_accounting(jobs: Sequence[str], cluster: str, default: JobState) -> dict[str, JobState]:
    """Return the states of jobs that squeue does not list, ``default`` without accounting."""
    if not jobs:
        return {}
    argv = (
        "sacct", *_cluster_option(cluster), "-n", "-X", "-P", "-o", "JobID,State,Reason", "-j",
        ",".join(jobs),
    )  # fmt: skip
    # Accounting may be late: a job that the controller does not know has ended.
    listed = _parse_states(_output_if_installed(argv).splitlines())
    ended = {job: state for job, state in listed if state.over}
    return {job: ended.get(job, default) for job in jobs}


def _parse_states(lines: Iterable[str]) -> Iterator[tuple[str, JobState]]:
    for line in lines:
        job, _, columns = line.strip().partition("|")
        state, _, reason = columns.partition("|")
        if job.isdecimal() and state.split():
            # sacct writes "CANCELLED by 1000".
            yield job, JobState(state.split()[0], reason)


def _is_unparsed(line: str) -> bool:
    """Check whether a line is neither a job, nor empty, nor the title of a cluster."""
    return "|" not in line and bool(line.strip()) and not line.startswith(_TITLE)
