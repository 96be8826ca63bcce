"""A suite of test cases as JUnit XML, for CI systems."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

from fabricgauge.report.interface import Setting, TestCase, TestSuite
from fabricgauge.report.visible import visible

#: XML 1.0 has no way to write these, not even as references; ``visible`` leaves them.
_UNWRITABLE = re.compile("[\ufffe\uffff]")


def render(suite: TestSuite, _setting: Setting) -> str:
    """One ``testsuite`` in ``testsuites``; names that occur again are numbered."""
    counts = Counter(one.element for one in suite.cases)
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
    seen: Counter[tuple[str, str]] = Counter()
    for case in suite.cases:
        place, name = _text(case.place), _text(case.name)
        seen[place, name] += 1
        again = f" ({seen[place, name]})" if seen[place, name] > 1 else ""
        _add_case(element, case, {"classname": place, "name": name + again})
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _add_case(suite: ET.Element, one: TestCase, named: dict[str, str]) -> None:
    timed = {"time": "0"} if one.told else {}
    case = ET.SubElement(suite, "testcase", {**named, **timed})
    if one.id:
        properties = ET.SubElement(case, "properties")
        ET.SubElement(properties, "property", {"name": "id", "value": _text(one.id)})
    told = "\n".join(map(_text, one.told))
    if not one.element:
        ET.SubElement(case, "system-out").text = told
        return
    kind = {"type": one.kind} if one.kind else {}
    found = ET.SubElement(case, one.element, {"message": _text(one.message), **kind})
    found.text = told or None


def _text(text: str) -> str:
    return _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
