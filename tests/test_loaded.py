"""A check of two nodes loads the main job, and neither a suite's reader nor a feature."""

import json
import subprocess
import sys

import pytest

#: Modules of the program that such a check may load; 306 in November 2026, 399 before.
MOST_MODULES = 310
_CHECK = """
import json, sys
sys.argv = ["fabricgauge", "check", *sys.argv[1:]]
from fabricgauge.cli.main import main
try:
    main()
except SystemExit as end:
    status = end.code
modules = sorted(name for name in sys.modules if name.startswith("fabricgauge."))
print(json.dumps({"status": status, "modules": modules}), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
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
    assert readers == {"logs.readers.engine", "logs.readers.ucx_protocols"}
    assert len(modules) <= MOST_MODULES
