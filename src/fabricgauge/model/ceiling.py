"""A physical limit and its calculation."""

import msgspec


class CeilingStep(msgspec.Struct, frozen=True):
    """One line of the calculation: label, expression, and result with its unit."""

    label: str
    expression: str
    value: float
    unit: str


class Ceiling(msgspec.Struct, frozen=True, tag="ceiling"):
    """The most payload that a network can carry, per direction.

    ``payload_bytes_per_s`` is the limit for a long stream. ``burst_bytes`` may pass
    above it at once, so a transfer of n bytes takes at least
    ``(n - burst_bytes) / payload_bytes_per_s``. ``binding`` names the part that
    limits. ``by_mtu`` are the limits in bytes/s for each MTU that may be in force, if an MTU was
    assumed, launches over verbs had several, or the nodes differ.
    """

    network: str
    payload_bytes_per_s: float
    payload_per_packet_bytes: int
    wire_bytes_per_packet: int
    burst_bytes: int
    binding: str
    steps: tuple[CeilingStep, ...]
    by_mtu: dict[int, float] = {}

    def subtract_acknowledgements(self, share: float) -> "Ceiling":
        """Return the limit for streams in both directions at once.

        Each direction also carries the other direction's acknowledgements: ``share`` of one for
        each packet. An acknowledgement is a packet without payload.
        """
        empty = self.wire_bytes_per_packet - self.payload_per_packet_bytes
        wire = self.wire_bytes_per_packet + share * empty
        limit = self.payload_bytes_per_s * self.wire_bytes_per_packet / wire
        expression = (
            f"{self.payload_bytes_per_s / 1e6:.2f} MB/s × {self.wire_bytes_per_packet} ÷"
            f" ({self.wire_bytes_per_packet} + {share:.2f} × {empty})"
        )
        return self._limited("with acknowledgements", expression, limit, {})

    def shared_by(self, streams: int) -> "Ceiling":
        """Return the limit for each of several streams that share the link in one direction."""
        return self._divide("for each of the concurrent pairs", streams, "ranks on a node")

    def divide_by_rails(self, rails: int) -> "Ceiling":
        """Return the limit of one of several links."""
        return self._divide("one rail", rails, "rails")

    def _divide(self, label: str, parts: int, noun: str) -> "Ceiling":
        expression = f"{self.payload_bytes_per_s / 1e6:.2f} MB/s ÷ {parts} {noun}"
        by_mtu = {mtu: rate / parts for mtu, rate in self.by_mtu.items()}
        return self._limited(label, expression, self.payload_bytes_per_s / parts, by_mtu)

    def _limited(
        self, label: str, expression: str, limit: float, by_mtu: dict[int, float]
    ) -> "Ceiling":
        steps = (*self.steps, CeilingStep(label, expression, limit, "bytes/s per direction"))
        return msgspec.structs.replace(self, payload_bytes_per_s=limit, steps=steps, by_mtu=by_mtu)

    def transfer_floor_s(self, payload_bytes: float) -> float:
        """Return the least seconds that ``payload_bytes`` take in one direction."""
        return max(0.0, payload_bytes - self.burst_bytes) / self.payload_bytes_per_s
