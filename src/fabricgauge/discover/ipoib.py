"""What /sys says of an interface of IP over InfiniBand → the port behind it; pure.

Source: Linux 6.12, drivers/infiniband/ulp/ipoib (mode; dev_port counts ports from 0; a child of
another partition is named ``ib0.8001`` after its parent).
"""

import re
from collections.abc import Mapping

from fabricgauge.discover.printouts.verbs import RATE
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import IpoibPort

#: What ``ip`` calls the medium (ARPHRD_INFINIBAND); Omni-Path's is the same.
MEDIUM = "infiniband"

_MODES = ("datagram", "connected")

#: Omni-Path's generation by the rate of its ports in Gb/s.
_OMNI_PATH = {"100": "OPA100", "400": "CN5000"}


def ipoib_port(where: str, values: Mapping[str, str]) -> IpoibPort:
    """``values`` are the interface's in /sys; ``where`` names it (``c1:ib0``)."""
    mode = values.get("mode", "")
    rate = _rate(values)
    no_link = Skipped(f"/sys gives no link of the port behind {where}")
    return IpoibPort(
        mode=mode if mode in _MODES else Skipped(f"/sys gives no IPoIB mode of {where}"),
        link=(_link(rate, values.get("driver", "")) if rate else "") or no_link,
    )


def port_rate(values: Mapping[str, str]) -> float | None:
    """The rate of the port in bit/s, as the kernel counts it; None where /sys gives none."""
    rate = _rate(values)
    return float(rate[1]) * 1e9 if rate else None


def _rate(values: Mapping[str, str]) -> re.Match[str] | None:
    """Of the port that the interface is on; of the only one where nothing says which."""
    rates = [value for key, value in values.items() if key.startswith("rate ")]
    on = values.get("dev_port", "")
    if on.isascii() and on.isdigit() and len(on) <= 3:
        return RATE.fullmatch(values.get(f"rate {int(on) + 1}", ""))
    return RATE.fullmatch(rates[0]) if len(rates) == 1 else None


def _link(rate: re.Match[str], driver: str) -> str:
    if driver.startswith("hfi"):
        return _OMNI_PATH.get(rate[1], "")
    return f"{rate[2]}x {rate[3] or 'SDR'}" if rate[2] else ""
