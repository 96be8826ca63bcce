"""Define the colours of matrices, the same on light and on dark pages.

The colours of curves are in style.css: people with the common colour blindnesses can distinguish
them (Okabe and Ito, "Color Universal Design", 2008; darkened for white paper).
"""

#: A pair that was not measured.
UNMEASURED = "#c4cdd8"
HEAT_STEPS = 64
#: Good to bad, on light and on dark pages alike: a colour means the same in every report.
#: Lightness falls all the way: no two colours have the same lightness.
_HEAT_ANCHORS = ("#fef9dd", "#f7cf63", "#df7f2c", "#a02e4e", "#3a1048")


#: Least to most of a matrix without a slow pair: blues, so that nothing looks like a fault.
_CALM_ANCHORS = ("#eef5fb", "#a6c8e4", "#4f8fc0", "#1f5b8f", "#0b2f52")


def _ramp(colours: tuple[str, ...]) -> tuple[str, ...]:
    anchors = [[int(anchor[i : i + 2], 16) for i in (1, 3, 5)] for anchor in colours]
    ramp = []
    for step in range(HEAT_STEPS):
        place = step * (len(anchors) - 1) / (HEAT_STEPS - 1)
        first = min(int(place), len(anchors) - 2)
        share = place - first
        ends = zip(anchors[first], anchors[first + 1], strict=True)
        ramp.append("#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in ends))
    return tuple(ramp)


HEAT = _ramp(_HEAT_ANCHORS)
CALM = _ramp(_CALM_ANCHORS)
#: The scale with close first steps: a tenth of the span takes a third of the colours.
_LAST = HEAT_STEPS - 1
STEEP = tuple(HEAT[round(_LAST * (step / _LAST) ** 0.5)] for step in range(HEAT_STEPS))
