"""A RoCE port's traffic class and priorities, as probe.sh prints them; pure.

Sources: NVIDIA's mlx5 driver outside of the kernel (tc/PORT/traffic_class: ``Global tclass=106``,
empty where unset, maybe rules of addresses below); Linux 6.12, drivers/infiniband/core/
cma_configfs.c (default_roce_tos); iproute2 6.1, dcb-pfc(8) and dcb-app(8).
"""

import re
from collections.abc import Mapping

from fabricgauge.discover.printouts import figures
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import UNSET, Priorities

_PFC = re.compile(r"([0-7]):(on|off)")
_MAPPED = re.compile(r"([0-9]|[1-5][0-9]|6[0-3]):([0-7])")


def priorities(values: Mapping[str, str], where: str) -> Priorities:
    """``values`` are a port's in its section; ``where`` names it. What is not understood is not
    known."""
    word = values.get("traffic_class", "")
    number = figures.whole(word.removeprefix("Global tclass="), f"traffic class of {where}", 255)
    pfc = values.get("prio-pfc", "").split()
    states = [found for found in map(_PFC.fullmatch, pfc) if found]
    mapped = map(_MAPPED.fullmatch, values.get("dscp-prio", "").split())
    unread = Skipped(f"dcb does not tell the priorities with PFC of {where}")
    return Priorities(
        traffic_class=UNSET if word == UNSET else number,
        cm_tos=figures.whole(values.get("default_roce_tos", ""), f"default TOS of {where}", 255),
        pfc=tuple(int(one[1]) for one in states if one[2] == "on")
        if states and len(states) == len(pfc)
        else unread,
        mapped=tuple((int(one[1]), int(one[2])) for one in mapped if one),
    )
