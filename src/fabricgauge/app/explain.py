"""Why a launch broke, as far as the network's links can tell."""

import msgspec

from fabricgauge.discover.interface import link_states
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.run import Ended


def explained(access: HostAccess, fabric: Fabric, network: str | None, ended: Ended) -> Ended:
    """A launch that broke gets the state of its network's links added to its message."""
    if ended.status == "ok":
        return ended
    networks = tuple(one for one in fabric.networks if network in (None, one.name))
    found = tuple(change for one in networks for change in link_states(access, fabric, one))
    return msgspec.structs.replace(ended, message="; ".join((*found, ended.message)), changes=found)
