"""The network that is wanted, and the steps that make it."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command


class WantedPort(msgspec.Struct, frozen=True):
    """One node's end of a wanted network; ``interface`` is the node's own name for it."""

    node: str
    interface: str
    ip: str
    prefix_length: int

    @property
    def cidr(self) -> str:
        return f"{self.ip}/{self.prefix_length}"

    @property
    def where(self) -> str:
        return f"{self.node}:{self.interface}"


class WantedNetwork(msgspec.Struct, frozen=True):
    """A network as a person describes it, and the ports that were chosen for it.

    ``kind`` is ``ethernet``, ``infiniband`` or ``omni-path``. ``mtu_bytes`` and ``rate_bit_s``
    are absent where the description leaves them open. ``suffix`` is put behind a node's name
    to name its end (``-eth40``); with ``plain`` the node's bare name means this end as well.
    ``exclusive`` says that its interfaces have addresses of no other subnet.
    """

    name: str
    subnet: str
    kind: str
    ports: tuple[WantedPort, ...]
    rate_bit_s: float | Skipped
    mtu_bytes: int | Skipped
    suffix: str
    plain: bool = False
    exclusive: bool = False


class Verification(msgspec.Struct, frozen=True):
    """A command whose output must contain ``expected`` (or not, if ``absent``); exit status 0.

    It changes nothing, so it can be asked at any time. ``patience_s`` is how long after the
    change it may take until it holds.
    """

    command: Command
    expected: str
    absent: bool = False
    patience_s: float = 0.0


class Step(msgspec.Struct, frozen=True):
    """One change, in the order in which it is to be made.

    ``verify`` and ``undo`` are empty where there is no such thing; ``undo_note`` says so in
    words. ``consent`` names what a person must agree to by name (``reboot``); empty otherwise.
    ``fulfilled`` is the evidence that nothing is left to do; empty for a step to be made.
    ``before`` is what the commands rest on and must still hold when they are run. A step that
    ``follows`` is due once one before it was made, though its verification may hold.
    """

    title: str
    reason: str
    commands: tuple[Command, ...] = ()
    verify: tuple[Verification, ...] = ()
    undo: tuple[Command, ...] = ()
    undo_note: str = ""
    consent: str = ""
    fulfilled: str = ""
    before: tuple[Verification, ...] = ()
    follows: bool = False


class Configuration(msgspec.Struct, frozen=True):
    """An ordered plan by one backend; ``notes`` are what a reviewer should know beforehand."""

    backend: str
    wanted: tuple[WantedNetwork, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
