"""Are a fast port's interrupts spread over the processors?"""

import re
from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, nodes
from fabricgauge.doctor.wording import link_rate
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "irqs"
TITLE = "A fast port's interrupts are spread over several processors"
WHY = "One processor handles some 10 to 20 Gb/s of TCP; the port cannot carry more than it does."

#: From here on one processor is the limit; a node must have so many to spread over.
FAST_BIT_S, LEAST_PROCESSORS = 10e9, 4

_SPREAD = re.compile(r"(\d{1,6}) on (\d{1,6}) processors?")


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if preflight.fabric.virtual:
        return Skipped("the nodes share one kernel")
    known = [
        (seen, one, spread)
        for seen in nodes(preflight)
        for one in seen.node.interfaces
        if (spread := _SPREAD.fullmatch(seen.facts.get(f"irqs of {one.name}", "")))
    ]
    if not known:
        return Skipped("no node says where the interrupts of its ports go")
    return tuple(
        found
        for seen, one, spread in known
        for found in _look(seen, one, int(spread.group(1)), int(spread.group(2)))
    )


def _look(seen: Seen, one: Interface, irqs: int, processors: int) -> Iterator[Finding]:
    fast = not isinstance(one.speed_bit_s, Skipped) and one.speed_bit_s >= FAST_BIT_S
    if not fast or irqs < 2 or processors > 1 or seen.node.cpu_count < LEAST_PROCESSORS:
        return
    rate = "" if isinstance(one.speed_bit_s, Skipped) else f" at {link_rate(one.speed_bit_s)}"
    told = f"{seen.name}:{one.name}{rate}: {irqs} interrupts on {processors} processor"
    yield Finding(
        ID, Severity.WARN, f"{seen.name}:{one.name}", "has all its interrupts on one processor",
        (told, f"{seen.name} has {seen.node.cpu_count} processors",
         f"service irqbalance: {seen.facts.get('service irqbalance', 'not told')}"),
        WHY,
        "let irqbalance run (systemctl enable --now irqbalance), or set the affinity by the"
        " driver's own script (set_irq_affinity)",
        (seen.name,),
    )  # fmt: skip
