"""What is known of the nodes before a plan is made."""

from pathlib import Path

from fabricgauge.app.survey import read_bundle, surveyed
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.inventory import Inventory


def live(access: HostAccess) -> tuple[Inventory, ...]:
    """What the nodes say now; one that does not answer has the reason for it."""
    return surveyed(access, ())[0]


def from_bundle(path: Path) -> tuple[Inventory, ...]:
    """What answers say that were gathered before, or printouts put together by hand.

    Raises:
        StoreError: no directory, a damaged index, or nothing in it.
    """
    return read_bundle(path)[0]
