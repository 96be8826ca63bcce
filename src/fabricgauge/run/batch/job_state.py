"""Slurm's words for what became of a job.

Sources: squeue(1) of Slurm 22.05, "Job State Codes" and "Job Reason Codes".
"""

import msgspec

#: States in which a job still has something before it.
_LIVE = frozenset({
    "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "REQUEUED",
    "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT", "SPECIAL_EXIT",
    "RESIZING",
    "REVOKED",  # another cluster of the federation runs it
})  # fmt: skip

#: Reasons of jobs that will not start by themselves.
_STUCK = {
    "PartitionConfig": "its partition cannot give what it asks for",
    "PartitionNodeLimit": "its partition gives no such number of nodes, or they are down",
    "PartitionTimeLimit": "its partition gives less time; -t asks for less",
    "PartitionDown": "its partition starts no jobs now",
    "PartitionInactive": "its partition starts no jobs now",
    "AssociationTimeLimit": "its account gives less time; -t asks for less",
    "QOSTimeLimit": "its quality of service gives less time; -t asks for less",
    "BadConstraints": "no nodes can give what it asks for",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its quality of service is not valid",
    "DependencyNeverSatisfied": "what it depends on cannot come any more",
    "JobHeldUser": "it is held; scontrol release lets it go",
    "JobHeldAdmin": "an administrator holds it",
    "JobHoldMaxRequeue": "it was put back too often and is held; scontrol release lets it go",
    "ReqNodeNotAvail": "a node that it names is down, drained or reserved",
}
#: Those that are of the job's own nodes: jobs for others may start.
_OF_ITS_NODES = frozenset({"ReqNodeNotAvail", "BadConstraints", "PartitionNodeLimit"})


class JobState(msgspec.Struct, frozen=True):
    """Slurm's word for a job's state, and why it waits or what it ended with.

    ``known`` is false where the controller did not answer.
    """

    state: str
    reason: str = ""
    known: bool = True

    @property
    def over(self) -> bool:
        return self.known and self.state not in _LIVE

    @property
    def stuck(self) -> str:
        """Why it may wait without end, in words; empty where it only waits its turn."""
        return _STUCK.get(self._why, "") if self.state == "PENDING" else ""

    @property
    def stuck_alone(self) -> bool:
        """Whether it is stuck for its own nodes' sake, and others need not be."""
        return bool(self.stuck) and self._why in _OF_ITS_NODES

    @property
    def _why(self) -> str:
        # The reason may go on: "ReqNodeNotAvail, UnavailableNodes:c1".
        return self.reason.partition(",")[0]

    def __str__(self) -> str:
        reason = self.reason if self.reason not in ("", "None") else ""
        return f"{self.state.lower()} ({reason})" if reason else self.state.lower()


#: Of a job that the controller has forgotten, and that was not accounted for either.
FORGOTTEN = JobState("FORGOTTEN", "Slurm does not know it any more")
UNKNOWN = JobState("UNKNOWN", known=False)
