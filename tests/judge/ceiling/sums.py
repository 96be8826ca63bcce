"""Ceilings that must be there, of networks as they are stated."""

from fabricgauge.judge.ceiling.stated import stated_network
from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network


def worked_out(network: Network) -> Ceiling:
    found = ceiling(network)
    assert isinstance(found, Ceiling), found
    return found


def of(text: str) -> Ceiling:
    return worked_out(stated_network(text))
