"""``compare --mix``: predict the time that an application's messages take on A and on B."""

from pathlib import Path
from typing import Any

from fabricgauge.cli.show import print_report
from fabricgauge.compare.sides import find_side, with_doubts
from fabricgauge.features.application.prediction import predict
from fabricgauge.features.application.profile import find_profile


def predict_times(a: str, b: str, root: Path, options: dict[str, Any]) -> None:
    """Print the communication time of an application on both sides."""
    mix = find_profile(options["mix"], root)
    sides = find_side(a, root), find_side(b, root)
    side_a, side_b = map(with_doubts, sides)
    invalid = [
        f"{letter} is {reason}"
        for letter, doubted_side in (("A", side_a), ("B", side_b))
        for reason in doubted_side.invalid[:1]
    ]
    prediction = predict(
        mix, side_a.name, sides[0].curves, side_b.name, sides[1].curves,
        tuple(dict.fromkeys((*side_a.notes, *side_b.notes))), invalid,
    )  # fmt: skip
    print_report("prediction", prediction, options["format"], options["to"])
