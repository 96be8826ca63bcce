"""Write the script that checks a node: the template with the expectations of all classes; pure."""

import re
import shlex
from collections.abc import Iterable, Iterator
from importlib import resources

import msgspec

from fabricgauge.features.health.checks import CHECKS, LIMITS
from fabricgauge.features.health.expectations import Expectations, NodeClass, list_nodes
from fabricgauge.model.words.port_counters import list_kind_words

BEGIN, END = "# fabricgauge: begin\n", "# fabricgauge: end\n"


class ScriptSettings(msgspec.Struct, frozen=True):
    """Defaults of the script's options.

    ``form`` is who asks. With ``drain`` the script drains the node and resumes it. An empty
    ``state`` is the default place. The check ends after ``limit_s`` seconds.
    """

    form: str = "plain"
    drain: bool = False
    state: str = ""
    textfile: str = ""
    limit_s: int = 4


def write_script(expectations: Expectations | None, settings: ScriptSettings) -> str:
    """Return the script; without expectations it watches counters only."""
    template = resources.files(__package__).joinpath("health.sh").read_text("utf-8")
    head, _, rest = template.partition(BEGIN)
    _, _, tail = rest.partition(END)
    classes = expectations.classes if expectations else ()
    changed = expectations.severities if expectations else {}
    severities = (
        (check.id, f"severity={changed.get(check.id, check.severity)}") for check in CHECKS
    )
    lines = [
        f"form={shlex.quote(settings.form)}",
        f"drain={'yes' if settings.drain else 'no'}",
        f"state={shlex.quote(settings.state)}",
        f"textfile={shlex.quote(settings.textfile)}",
        f"limit_s={settings.limit_s}",
        *_class_functions(classes),
        *_node_function("expect", classes, 1 if expectations else 2),
        *_node_function("watch", classes, 1),
        *_case_function("severity_of", severities, "severity=warn"),
        *_limits(expectations or Expectations(())),
        *_counter_kinds(),
    ]
    return head + BEGIN + "\n".join(lines) + "\n" + END + tail


def _class_functions(classes: tuple[NodeClass, ...]) -> Iterator[str]:
    for number, node_class in enumerate(classes, 1):
        yield f"expect_class_{number}() {{"
        for (kind, name), values in node_class.parts.items():
            for field, value in values.items():
                words = " ".join(shlex.quote(word) for word in (kind, name, field, value))
                yield f"    expect {words}"
        yield "    return 0"
        yield "}"
        yield f"watch_class_{number}() {{"
        for kind, name in node_class.parts:
            if kind in ("net", "port"):
                yield f"    watch {kind} {shlex.quote(name)}"
        yield "    return 0"
        yield "}"


def _case_function(name: str, cases: Iterable[tuple[str, str]], otherwise: str) -> Iterator[str]:
    """Yield a function that does, for patterns of its word, what stands beside them."""
    yield f"{name}() {{"
    yield "    case $1 in"
    yield from (f"    {pattern}) {action} ;;" for pattern, action in (*cases, ("*", otherwise)))
    yield "    esac"
    yield "}"


def _node_function(verb: str, classes: tuple[NodeClass, ...], absent: int) -> Iterator[str]:
    """Yield a function that finds the class of a node; its status is ``absent`` without one."""
    if classes:
        patterns = (" | ".join(map(shlex.quote, list_nodes(row))) for row in classes)
        cases = ((pattern, f"{verb}_class_{n}") for n, pattern in enumerate(patterns, 1))
        yield from _case_function(f"{verb}_node", cases, f"return {absent}")
    else:
        yield from (f"{verb}_node() {{", f"    return {absent}", "}")


def _limits(expectations: Expectations) -> Iterator[str]:
    """Yield the function that sets warn_over and fail_over from a kind and a rate in Gb/s."""
    yield "limits_of() {"
    yield "    warn_over='' fail_over=''"
    yield "    case $1 in"
    for limit in LIMITS:
        warn_over, fail_over = expectations.limits.get(
            limit.kind, (limit.warn_over, limit.fail_over)
        )
        yield f"    {limit.kind})"
        if warn_over is not None:
            yield f"        warn_over={warn_over}"
        if fail_over is not None:
            yield f"        fail_over={fail_over}"
            if limit.fail_per_gbit and limit.kind not in expectations.limits:
                per_ten_gbit = round(10 * limit.fail_per_gbit)
                yield f"        by_rate=$(({per_ten_gbit} * $2 / 10))"
                yield '        [ "$by_rate" -le "$fail_over" ] || fail_over=$by_rate'
        yield "        ;;"
    yield "    esac"
    yield "}"


def _counter_kinds() -> Iterator[str]:
    """Yield the function that sets kind from a counter's name, as ``port_counters`` does."""
    cases = [
        (f"*{_any_case('uncorrect')}*", "kind=uncorrectable"),
        (f"*{_any_case('storm_error')}*", "kind=storms"),
    ]
    for kind, names, words in list_kind_words():
        patterns = [*names, *(f"*{_any_case(word)}*" for word in words)]
        if patterns:
            cases.append((" | ".join(patterns), f"kind={kind or 'none'}"))
    return _case_function("counter_kind", cases, "kind=none")


def _any_case(word: str) -> str:
    """Return a shell pattern that matches a word in small and capital letters."""
    return re.sub(r"[a-z]", lambda match: f"[{match[0]}{match[0].upper()}]", word)
