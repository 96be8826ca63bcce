"""A RoCE port's traffic class and priorities, as probe.sh prints them; pure.

Sources: NVIDIA's mlx5 driver outside of the kernel (tc/PORT/traffic_class: ``Global tclass=106``,
empty if unset, with rules for addresses below if there are any); Linux 6.12,
drivers/infiniband/core/cma_configfs.c (default_roce_tos); iproute2 6.1, dcb-pfc(8) and dcb-app(8).
"""

import re
from collections.abc import Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import UNSET, Priorities
from fabricgauge.nodes.discover.printouts import figures

_PFC = re.compile(r"([0-7]):(on|off)")
_MAPPED = re.compile(r"([0-9]|[1-5][0-9]|6[0-3]):([0-7])")


def parse_priorities(values: Mapping[str, str], port: str) -> Priorities:
    """Read the ``values`` of a port's section; text that is not understood is unknown."""
    word = values.get("traffic_class", "")
    traffic_class = figures.parse_whole(
        word.removeprefix("Global tclass="), f"traffic class of {port}", 255
    )
    pfc_words = values.get("prio-pfc", "").split()
    states = [match for match in map(_PFC.fullmatch, pfc_words) if match]
    mapped = map(_MAPPED.fullmatch, values.get("dscp-prio", "").split())
    return Priorities(
        traffic_class=UNSET if word == UNSET else traffic_class,
        cm_tos=figures.parse_whole(
            values.get("default_roce_tos", ""), f"default TOS of {port}", 255
        ),
        pfc=tuple(int(state[1]) for state in states if state[2] == "on")
        if states and len(states) == len(pfc_words)
        else Skipped(f"dcb does not give the priorities with PFC of {port}"),
        mapped=tuple((int(match[1]), int(match[2])) for match in mapped if match),
    )
