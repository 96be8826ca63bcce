"""Order statistics of very many figures in bounded memory."""

import math
from array import array

#: So many figures are kept as they are; a table of 1024 ranks has that many.
MOST_EXACT = 1 << 20
#: Beyond them a figure counts as the middle of its class, which is this much wide.
RESOLUTION = 0.001


class Spread:
    """Positive figures, one by one; quantiles are exact up to ``MOST_EXACT`` of them."""

    def __init__(self) -> None:
        self.count = 0
        self._exact = array("d")
        self._classes: dict[int, int] = {}

    @property
    def is_exact(self) -> bool:
        return self.count == len(self._exact)

    def add(self, value: float) -> None:
        """Take one figure, which must be finite and above zero."""
        self.count += 1
        if len(self._exact) < MOST_EXACT:
            self._exact.append(value)
        else:
            place = math.floor(math.log(value) / RESOLUTION)
            self._classes[place] = self._classes.get(place, 0) + 1

    def quantiles(self, shares: tuple[float, ...]) -> list[float]:
        """The value below or at which each share lies; there must be a figure."""
        weighted = sorted([(value, 1) for value in self._exact] + self._middles())
        wanted = [share * (self.count - 1) for share in shares]
        return [_between(weighted, place) for place in wanted]

    def _middles(self) -> list[tuple[float, int]]:
        return [
            (math.exp((place + 0.5) * RESOLUTION), count) for place, count in self._classes.items()
        ]


def _between(weighted: list[tuple[float, int]], place: float) -> float:
    """Linear between neighbours, as medians of an even count are."""
    low, passed, lower = math.floor(place), 0, math.nan
    for value, count in weighted:
        if math.isnan(lower) and passed + count > low:
            lower = value
        if passed + count > low + 1:
            return lower + (place - low) * (value - lower)
        passed += count
    return lower
