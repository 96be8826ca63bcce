"""Everything that is printed as JSON fits its published schema."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from tests.cli.typed import typed
from tests.docs.json_schemas import DOCUMENTS, FOLDER, OTHERS, read_schema, require_fit, schemas
from tests.lab.test_place import lab_file, runtime

__all__ = ["runtime"]

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
#: Results of features: each kind of directory that `report` shows.
STORED = RUNS.parent / "stored"
JSON = ("--format", "json")


def run(name: str) -> str:
    folder = RUNS if name.startswith("0.1.0") else STORED
    (path,) = (folder / name).iterdir()
    return str(path)


#: Printed documents, by the name of their schema and the case.
PRINTED: dict[tuple[str, str], tuple[str, ...]] = {
    **{
        ("report", path.name): ("report", run(path.name))
        for path in RUNS.glob("0.1.0--*")
        if path.is_dir() and "discovered" not in path.name
    },
    ("varied", "two settings"): ("report", run("0.2.0--varied")),
    ("call-paths", "one call"): ("report", run("0.2.0--traced")),
    ("call-path-changes", "none"): ("path", "compare", run("0.2.0--traced"), run("0.2.0--traced")),
    ("comparison", "slow"): ("compare", run("0.1.0--healthy"), run("0.1.0--slow-link")),
    ("discovery", "sound"): ("discover", "--from", str(RUNS / "0.1.0--discovered")),
    ("discovery", "mtu"): ("discover", "--from", str(RUNS / "0.1.0--discovered-mtu")),
    ("preflight", "mtu"): ("doctor", "--from", str(RUNS / "0.1.0--discovered-mtu")),
    ("runs", "one"): ("runs", "-o", str(RUNS / "0.1.0--healthy")),
    ("explanation", "all"): ("explain",),
}  # fmt: skip


def test_the_folder_holds_todays_schemas() -> None:
    written = {file.name: file.read_text("utf-8") for file in FOLDER.iterdir()}
    assert written == schemas(), "run scripts/write-json-schemas"
    for name in (*DOCUMENTS, *OTHERS):
        jsonschema.Draft202012Validator.check_schema(read_schema(name))


@pytest.mark.parametrize(("name", "case"), PRINTED)
def test_what_is_printed_fits_its_schema(name: str, case: str) -> None:
    answer = typed(*PRINTED[name, case], *JSON)
    require_fit(name, json.loads(answer.output))


def test_a_profile_fits_its_schema(tmp_path: Path) -> None:
    report = min((RUNS.parent / "mpip").glob("*.out"))
    answer = typed("import", str(report), "-o", str(tmp_path), *JSON)
    jsonschema.Draft202012Validator(read_schema("profile")).validate(json.loads(answer.output))


def test_labs_fit_their_schema(runtime: Path) -> None:
    lab_file(runtime, "t-lab-schema", "/nowhere")
    (runtime / "fabricgauge" / "labs" / "t-lab-broken").mkdir(mode=0o700)
    labs = json.loads(typed("lab", "list", "--json").output)
    assert [lab["name"] for lab in labs] == ["t-lab-broken", "t-lab-schema"]
    jsonschema.Draft202012Validator(read_schema("lab-status")).validate(labs)


def test_a_changed_type_does_not_fit() -> None:
    document = json.loads(typed("report", run("0.1.0--healthy"), *JSON).output)
    validator = jsonschema.Draft202012Validator(read_schema("report"))
    assert validator.is_valid(document)
    for path, wrong in ((("overall",), "GOOD"), (("run", "identity"), 3), (("verdicts",), {})):
        broken = copy.deepcopy(document)
        place = broken
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        assert not validator.is_valid(broken), path
