"""The intended network, and the steps that configure it."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command


class WantedPort(msgspec.Struct, frozen=True):
    """One node's end of an intended network; ``interface`` is its name on the node."""

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
    are absent if the description omits them. A node's name with ``suffix`` (``-eth40``) names its
    end; if ``plain``, the bare name of the node means this end too. If ``exclusive``, its
    interfaces have addresses of no other subnet.
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

    It changes nothing, so it can run at any time. ``patience_s`` is the longest time from the
    change until it must hold.
    """

    command: Command
    expected: str
    absent: bool = False
    patience_s: float = 0.0


class Step(msgspec.Struct, frozen=True):
    """One change of an ordered plan.

    ``verify`` and ``undo`` are empty if the step has none; ``undo_note`` then gives the reason.
    ``consent`` is the action that a person must permit by name (``reboot``); empty otherwise.
    ``fulfilled`` is the evidence that no change is needed; empty for a step that is due.
    ``before`` are conditions that must still hold when the commands run. A step that ``follows`` is
    due after any earlier step was made, even if its verification holds.
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
    """An ordered plan by one backend; ``notes`` are advice for a reviewer."""

    backend: str
    wanted: tuple[WantedNetwork, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
