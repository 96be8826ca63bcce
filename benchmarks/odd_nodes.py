"""How long it takes to name 7 odd ones among 2,000 nodes, from their raw answers.

python -m benchmarks.odd_nodes
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.synthetic_bundle import written

from fabricgauge.doctor.survey import conclude_survey, read_bundle
from fabricgauge.report.content.discovery import KIND
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Setting

NODES = 2000


def main(_arguments: Sequence[str] = ()) -> None:
    with tempfile.TemporaryDirectory() as folder:
        planted = written(Path(folder) / "bundle", NODES)
        begun = time.perf_counter()
        content = read_bundle(Path(folder) / "bundle")
        read = time.perf_counter()
        surveyed = conclude_survey(content.inventories, content.fabric)
        judged = time.perf_counter()
        text = formats_of(KIND)["terminal"](surveyed, Setting(width=200))
        ended = time.perf_counter()
    named = {
        node: oddity.attribute
        for like in surveyed.classes
        for oddity in like.oddities
        for node in oddity.nodes
    }
    print(f"{NODES:,} nodes: read and parsed {read - begun:.2f} s, judged {judged - read:.2f} s,")
    print(f"report {ended - judged:.2f} s; all together {ended - begun:.2f} s")
    for node, what in sorted(planted.items()):
        print(f"  {node}: {what}: {'named as ' + named[node] if node in named else 'MISSED'}")
    print(f"  named besides: {sorted(set(named) - set(planted)) or 'none'}")
    print(text[: text.index("network ")])


if __name__ == "__main__":
    main()
