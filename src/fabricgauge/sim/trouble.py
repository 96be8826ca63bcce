"""Whether a simulated launch came to its end: SimGrid's exit status does not tell."""

#: What SimGrid 3.32 writes to standard error, and what it means. It exits with 0 after each.
SIGNS: tuple[tuple[str, str], ...] = (
    ("MPI_Abort was called", "a rank called MPI_Abort"),
    ("Deadlock detected", "deadlock: ranks wait for messages that nobody sends"),
    ("Stalling SMPI instance", "a rank did not reach MPI_Finalize"),
)

FOOTER = '{"record":"footer"'


def trouble(exit_code: int, stdout: str, stderr: str) -> str:
    """What went wrong, as a sentence; empty if the launch wrote its last record and ended."""
    for sign, meaning in SIGNS:
        if sign in stderr:
            return f"{meaning}{_said(stderr)}"
    if exit_code != 0:
        return f"the simulation ended with exit status {exit_code}{_said(stderr)}"
    if FOOTER not in stdout:
        return f"the simulation ended before the engine's last record{_said(stderr)}"
    return ""


def _said(stderr: str) -> str:
    """The telling lines: the engine's own, or the last."""
    lines = [line.strip()[:300] for line in stderr.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("fabricgauge-engine:")]
    told = own[-2:] or lines[-1:]
    return f"; it said: {' | '.join(told)}" if told else "; it said nothing"
