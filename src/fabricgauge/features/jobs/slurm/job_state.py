"""Interpret Slurm's states and reasons of jobs.

Sources: squeue(1) of Slurm 22.05, "Job State Codes" and "Job Reason Codes".
"""

import msgspec

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
