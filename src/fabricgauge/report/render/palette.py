"""Define the colours of the curves, for light and for dark pages.

People with the common colour blindnesses can distinguish the series colours (Okabe and Ito, "Color
Universal Design", 2008; darkened for white paper).
"""

INK = "#1b2430"
SOFT = "#5b6675"
GRID = "#e4e8ee"
# Not #ffffff: Bokeh leaves its defaults out of the document, and boot.js could not swap it.
PAPER = "#fffffe"
LIMIT = "#9a1f2e"
FLOOR = "#6b5b95"
SERIES = ("#0b5cad", "#c2570c", "#00785f", "#8a3f9e", "#6f6a00", "#3d5a6c")
#: A pair that was not measured.
UNMEASURED = "#c4cdd8"
HEAT_STEPS = 64
#: Good to bad, on light and on dark pages alike: a colour means the same in every report.
#: Lightness falls all the way: no two colours have the same lightness.
_HEAT_ANCHORS = ("#fef9dd", "#f7cf63", "#df7f2c", "#a02e4e", "#3a1048")


def _heat() -> tuple[str, ...]:
    anchors = [[int(anchor[i : i + 2], 16) for i in (1, 3, 5)] for anchor in _HEAT_ANCHORS]
    ramp = []
    for step in range(HEAT_STEPS):
        place = step * (len(anchors) - 1) / (HEAT_STEPS - 1)
        first = min(int(place), len(anchors) - 2)
        share = place - first
        ends = zip(anchors[first], anchors[first + 1], strict=True)
        ramp.append("#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in ends))
    return tuple(ramp)


HEAT = _heat()
#: The scale with close first steps: a tenth of the span takes a third of the colours.
_LAST = HEAT_STEPS - 1
STEEP = tuple(HEAT[round(_LAST * (step / _LAST) ** 0.5)] for step in range(HEAT_STEPS))

#: Colours that boot.js substitutes if the reader prefers dark pages.
DARK: dict[str, str] = {
    INK: "#e6eaf0",
    SOFT: "#9aa7b8",
    GRID: "#2a3442",
    PAPER: "#151c26",
    LIMIT: "#ff8a94",
    FLOOR: "#b9a8e6",
    **dict(zip(SERIES, ("#63adf7", "#f79a4f", "#3fcfae", "#cf8fe0", "#d3cb4a", "#9dbccd"),
               strict=True)),
}  # fmt: skip
