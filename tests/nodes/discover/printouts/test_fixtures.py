import pytest
from tests.nodes.discover.printouts.reading import FIXTURES, FOLDERS, read

CASES = [(f, path.stem) for f in FOLDERS for path in sorted((FIXTURES / f).glob("*.out"))]
#: What a tool prints when it has nothing to tell; its words are the trouble.
WITHOUT = {"6.1--i-lo", "44--none", "6.1--none", "1.17--none"}


@pytest.mark.parametrize(("folder", "case"), CASES)
def test_a_printout_has_its_provenance_and_leaves_no_trouble(folder: str, case: str) -> None:
    said = (FIXTURES / folder / f"{case}.meta").read_text()
    assert "\ncase: " in said
    assert ("recorded: " in said) != ("not recorded" in said)
    argument = "-l" if case == "44--rxe-list" else "-d mlx5_0" if folder == "mlxlink" else "-i eth0"
    troubles = read(folder, case, argument).troubles
    if case in WITHOUT:
        assert len(troubles) == 1
    elif case != "guide--offline":
        assert troubles == ()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_tool_has_printouts(folder: str) -> None:
    assert any(name == folder for name, _ in CASES)
