"""A number with its interval."""

import msgspec


class Estimate(msgspec.Struct, frozen=True):
    """A median with a two-sided interval at ``confidence``, from ``launches`` launches.

    The unit is that of the three numbers: seconds or bytes/s, as the owner says.
    """

    value: float
    low: float
    high: float
    confidence: float
    launches: int
    samples: int
