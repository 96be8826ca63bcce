"""Write the script that checks a node: the template with the expectations of all classes; pure."""

import re
import shlex
from collections.abc import Iterator
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
    lines = [
        f"form={shlex.quote(settings.form)}",
        f"drain={'yes' if settings.drain else 'no'}",
        f"state={shlex.quote(settings.state)}",
        f"textfile={shlex.quote(settings.textfile)}",
        f"limit_s={settings.limit_s}",
        *_class_functions(classes),
        *_node_function("expect", classes, 1 if expectations else 2),
        *_node_function("watch", classes, 1),
        *_severities(expectations or Expectations(())),
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


def _node_function(verb: str, classes: tuple[NodeClass, ...], absent: int) -> Iterator[str]:
    """Yield a function that finds the class of a node; its status is ``absent`` without one."""
    yield f"{verb}_node() {{"
    if classes:
        yield "    case $1 in"
        for number, node_class in enumerate(classes, 1):
            nodes = " | ".join(shlex.quote(node) for node in list_nodes(node_class))
            yield f"    {nodes}) {verb}_class_{number} ;;"
        yield f"    *) return {absent} ;;"
        yield "    esac"
    else:
        yield f"    return {absent}"
    yield "}"


def _severities(expectations: Expectations) -> Iterator[str]:
    yield "severity_of() {"
    yield "    case $1 in"
    for check in CHECKS:
        yield f"    {check.id}) severity={expectations.severities.get(check.id, check.severity)} ;;"
    yield "    *) severity=warn ;;"
    yield "    esac"
    yield "}"


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
    yield "counter_kind() {"
    yield "    case $1 in"
    yield f"    *{_any_case('uncorrect')}*) kind=uncorrectable ;;"
    yield f"    *{_any_case('storm_error')}*) kind=storms ;;"
    for kind, names, words in list_kind_words():
        patterns = [*names, *(f"*{_any_case(word)}*" for word in words)]
        if patterns:
            yield f"    {' | '.join(patterns)}) kind={kind or 'none'} ;;"
    yield "    *) kind=none ;;"
    yield "    esac"
    yield "}"


def _any_case(word: str) -> str:
    """Return a shell pattern that matches a word in small and capital letters."""
    return re.sub(r"[a-z]", lambda match: f"[{match[0]}{match[0].upper()}]", word)
