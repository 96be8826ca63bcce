"""Do the processors run at full speed?"""

from fabricgauge.doctor.places import nodes
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "governor"
TITLE = "The processors' frequency governor is performance"
WHY = "A processor that slows down between messages adds microseconds to latency, and they vary."

#: Governors that lower the frequency of a processor that waits (Linux,
#: Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst).
SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil", "userspace"})


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if preflight.fabric.virtual:
        return Skipped("the nodes share one machine's processors")
    known = [(seen, seen.facts["cpu governor"].strip()) for seen in nodes(preflight)
             if seen.facts.get("cpu governor", "").strip()]  # fmt: skip
    if not known:
        return Skipped("no node says its governor: virtual machines have none")
    argv = ("cpupower", "frequency-set", "-g", "performance")
    return tuple(
        Finding(
            ID, Severity.WARN, seen.name, f"its governor is {governor}",
            (f"{seen.name}: scaling_governor {governor}",), WHY,
            "set it to performance, at each start as well (tuned-adm profile network-latency or"
            " hpc-compute)",
            (seen.name,), "", (Command(seen.name, argv),),
        )
        for seen, governor in known
        if governor in SAVING
    )  # fmt: skip
