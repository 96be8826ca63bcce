"""Write a suite of test cases as JUnit XML, for CI systems."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

from fabricgauge.report.interface import Setting, TestCase, TestSuite
from fabricgauge.report.visible import visible

#: XML 1.0 has no way to write these, not even as references; ``visible`` leaves them.
_UNWRITABLE = re.compile("[\ufffe\uffff]")


def render(suite: TestSuite, _setting: Setting) -> str:
    """Return one ``testsuite`` in ``testsuites``; repeated names get a number."""
    counts = Counter(case.element for case in suite.cases)
    numbers = {
        "tests": str(len(suite.cases)), "failures": str(counts["failure"]),
        "errors": str(counts["error"]), "skipped": str(counts["skipped"]),
    }  # fmt: skip
    root = ET.Element("testsuites", {"name": "fabricgauge", **numbers})
    of_suite = {
        "name": f"fabricgauge {_text(suite.name)}", **numbers, "time": f"{suite.wall_s:.3f}",
        "timestamp": _text(suite.started_utc.removesuffix("Z")),
    }  # fmt: skip
    element = ET.SubElement(root, "testsuite", of_suite)
    properties = ET.SubElement(element, "properties")
    for name, value in suite.properties.items():
        ET.SubElement(properties, "property", {"name": name, "value": _text(value)})
    occurrences: Counter[tuple[str, str]] = Counter()
    for case in suite.cases:
        place, name = _text(case.place), _text(case.name)
        occurrences[place, name] += 1
        number = f" ({occurrences[place, name]})" if occurrences[place, name] > 1 else ""
        _add_case(element, case, {"classname": place, "name": name + number})
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _add_case(suite: ET.Element, test_case: TestCase, named: dict[str, str]) -> None:
    timed = {"time": "0"} if test_case.lines else {}
    case = ET.SubElement(suite, "testcase", {**named, **timed})
    if test_case.id:
        properties = ET.SubElement(case, "properties")
        ET.SubElement(properties, "property", {"name": "id", "value": _text(test_case.id)})
    text = "\n".join(map(_text, test_case.lines))
    if not test_case.element:
        ET.SubElement(case, "system-out").text = text
        return
    kind = {"type": test_case.kind} if test_case.kind else {}
    outcome = ET.SubElement(case, test_case.element, {"message": _text(test_case.message), **kind})
    outcome.text = text or None


def _text(text: str) -> str:
    return _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
