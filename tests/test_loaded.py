"""A check of two nodes loads the main job, room by room, and neither a reader nor a feature."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest

#: Modules of the program that such a check may load: 198 if it passes, a few more if figures are
#: low and their causes are looked for; 228, 306 and 399 earlier in November 2026.
MOST_MODULES = 204
#: Changes of room in the order in which these modules begin to load, ``model`` included: what a
#: reader does who follows the imports; 52 in November 2026.
MOST_CHANGES = 60
_CHECK = """
import json, sys
from importlib.abc import MetaPathFinder

class Order(MetaPathFinder):
    names = {}
    def find_spec(self, name, path=None, target=None):
        self.names.setdefault(name)

sys.meta_path.insert(0, Order())
sys.argv = ["fabricgauge", "check", *sys.argv[1:]]
from fabricgauge.cli.main import main
try:
    main()
except SystemExit as end:
    status = end.code
modules = [
    name for name in Order.names if name.startswith("fabricgauge.") and name in sys.modules
]
print(json.dumps({"status": status, "modules": modules}), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules in the order in which they begin to load."""
    folder = tmp_path_factory.mktemp("runs")
    words = ("--lab", "--profile", "quick", "-q", "-o", str(folder))
    ended = subprocess.run(
        [sys.executable, "-c", _CHECK, *words], capture_output=True, text=True, check=False
    )
    answer = json.loads(ended.stderr.splitlines()[-1])
    assert answer["status"] != 2, ended.stderr
    return [name.removeprefix("fabricgauge.") for name in answer["modules"]]


@pytest.mark.lab
@pytest.mark.engine
def test_a_check_of_two_nodes_loads_what_it_needs(modules: list[str]) -> None:
    assert "check.main_job" in modules
    assert [name for name in modules if name.startswith("features.")] == []
    readers = {name for name in modules if name.startswith("logs.readers.")}
    assert readers == {"logs.readers.engine"}
    assert len(modules) <= MOST_MODULES


@pytest.mark.lab
@pytest.mark.engine
def test_a_check_of_two_nodes_goes_room_by_room(modules: list[str]) -> None:
    rooms = [name.partition(".")[0] for name in modules]
    assert sum(room != following for room, following in pairwise(rooms)) <= MOST_CHANGES
