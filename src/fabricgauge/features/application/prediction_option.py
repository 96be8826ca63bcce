"""``compare --mix``: predict the time that an application's messages take on A and on B."""

from pathlib import Path
from typing import Any

from fabricgauge.cli.show import print_report
from fabricgauge.compare.sides import find_side, with_doubts
from fabricgauge.features.application.prediction import predict
from fabricgauge.features.application.prediction_content import document, headline
from fabricgauge.features.application.prediction_values import Prediction
from fabricgauge.features.application.profile import find_profile
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting


def predict_times(a: str, b: str, root: Path, options: dict[str, Any]) -> None:
    """Print the communication time of an application on both sides."""
    prediction = predict_sides(a, b, options["mix"], root)
    print_report("prediction", prediction, options["format"], options["to"])


def predicted_blocks(a: str, b: str, mix: str, root: Path) -> tuple[doc.Block, ...]:
    """Return a prediction as a part of another report: its headline, sums and rows."""
    prediction = predict_sides(a, b, mix, root)
    sections = document(prediction, Setting()).sections
    shown = [section for section in sections if section.ident in ("sum", "rows", "left-out")]
    return (
        doc.Paragraph(headline(prediction), kind="strong"),
        *(block for section in shown for block in section.blocks),
    )


def predict_sides(a: str, b: str, named_mix: str, root: Path) -> Prediction:
    """Predict the messages of a profile on two sides of a comparison."""
    mix = find_profile(named_mix, root)
    sides = find_side(a, root), find_side(b, root)
    side_a, side_b = map(with_doubts, sides)
    invalid = [
        f"{letter} is {reason}"
        for letter, doubted_side in (("A", side_a), ("B", side_b))
        for reason in doubted_side.invalid[:1]
    ]
    return predict(
        mix, side_a.name, sides[0].curves, side_b.name, sides[1].curves,
        tuple(dict.fromkeys((*side_a.notes, *side_b.notes))), invalid,
    )  # fmt: skip
