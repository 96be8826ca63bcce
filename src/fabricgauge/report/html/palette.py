"""The colours of the curves, for light and for dark pages.

Series colours are told apart by people with the common colour blindnesses
(Okabe and Ito, "Color Universal Design", 2008; darkened for white paper).
"""

INK = "#1b2430"
SOFT = "#5b6675"
GRID = "#e4e8ee"
# Not #ffffff: Bokeh leaves its defaults out of the document, and boot.js could not swap it.
PAPER = "#fffffe"
LIMIT = "#9a1f2e"
FLOOR = "#6b5b95"
SERIES = ("#0b5cad", "#c2570c", "#00785f", "#8a3f9e", "#6f6a00", "#3d5a6c")

#: What boot.js puts in the place of each colour when the reader prefers dark pages.
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
