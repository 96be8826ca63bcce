"""Nodes, descriptions and replies for the tests of the plan."""

import msgspec

from fabricgauge.features.configure.description import Description, NetworkDescription
from fabricgauge.features.configure.interface import draft, questions
from fabricgauge.features.configure.job import Draft, Reply
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface, Node
from fabricgauge.model.finding import Command
from fabricgauge.model.inventory import Adapter, Inventory

NO = Skipped("not in this test")

BACKENDS = ("xcat", "ip")


def interface(
    name: str, *addresses: str, mtu: int = 1500, up: bool = True, driver: str = "i40e"
) -> Interface:
    carrier = True if up else Skipped("it is switched off")
    held = tuple(
        Address(ip, int(length)) for ip, _, length in (one.partition("/") for one in addresses)
    )
    return Interface(name, driver, "up", carrier, 10e9, mtu, "02:00:00:00:00:01", held, NO, NO)


def adapter(bus: str, *interfaces: str, product: str = "XL710", lanes: str = "") -> Adapter:
    return Adapter(
        bus, "Intel Corporation", product, "ethernet", "i40e", NO, NO, NO, NO, NO, interfaces,
        lane_mode=lanes or NO, lane_modes=("1x40", "4x10") if lanes else (),
    )  # fmt: skip


def inventory(name: str, *interfaces: Interface, adapters: tuple[Adapter, ...] = ()) -> Inventory:
    node = Node(name, name, f"boot-{name}", "4026531840", 2, "6.1", interfaces, {})
    return Inventory(name, node, adapters=adapters)


def network(name: str = "net40", **more: object) -> NetworkDescription:
    usual = NetworkDescription(
        name, "10.10.40.0/24", "ethernet", nodes=("c1", "c2"), first="10.10.40.21", suffix="-eth40",
        interfaces={"c1": "enp97s0", "c2": "enp182s0"}, mtu_bytes=9000,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **more)


def wish(backend: str = "ip", *networks: NetworkDescription, **more: object) -> Description:
    usual = Description("net.toml", backend, networks or (network(),))
    return msgspec.structs.replace(usual, **more)


def nodes() -> tuple[Inventory, ...]:
    return (
        inventory("c1", interface("eth0", "10.10.1.21/24"), interface("enp97s0")),
        inventory("c2", interface("eth0", "10.10.1.22/24"), interface("enp182s0")),
    )


def drafted(
    description: Description | None = None, inventories: tuple[Inventory, ...] | None = None
) -> Draft:
    return draft(description or wish(), nodes() if inventories is None else inventories)


def answered(job: Draft, files: dict[tuple[str, str], str]) -> Draft:
    """The same once its questions for files were answered; a file that is not named is absent."""
    replies: dict[Command, Reply] = {}
    for question in questions(job):
        path = question.argv[-1]
        there = (question.node, path) in files
        if question.argv[0] == "cat":
            replies[question] = Reply(0, files[question.node, path]) if there else Reply(1, "")
        elif question.argv[0] == "test":
            replies[question] = Reply(0 if there else 1, "")
    return msgspec.structs.replace(job, replies=replies)
