"""Read netperf 2: tables of TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR; omni's values.

Those are ``NAME=value`` lines, or CSV with the names of nettest_omni.c. Formats after public logs
of 2.x; no netperf was run. ``10^6bits/sec`` names its unit; a ``MBytes`` is 2^20 bytes
(``-f M``). A transaction is a whole round trip; where only one is under way (no burst), and request
and response are alike, their rate gives half of one. Mail programs break the title.
"""

from functools import partial

from fabricgauge.logs.readers.labelled import Labelled, NamedValue, Values
from fabricgauge.model.suite import Besides

_TITLES = {
    "TCP STREAM": "TCP_STREAM", "TCP MAERTS": "TCP_MAERTS", "TCP SENDFILE": "TCP_SENDFILE",
    "UDP UNIDIRECTIONAL SEND": "UDP_STREAM", "UDP STREAM": "UDP_STREAM",
    "TCP REQUEST/RESPONSE": "TCP_RR",
    "UDP REQUEST/RESPONSE": "UDP_RR", "TCP Connect/Request/Response": "TCP_CRR",
}  # fmt: skip
_UNITS = {
    **{f"10^{3 * power}bits/s": 1000.0**power / 8 for power in (0, 1, 2, 3)},
    **{f"{prefix}Bytes/s": 1024.0**power for power, prefix in enumerate(("", *"KMG"))},
}
_RULE = "10^6bits = 10^6 bits, MBytes = 2^20 bytes (netperf)"
_N = r"\d{1,15}"
_F = r"\d{1,15}\.\d{1,6}"
_S = rf"(?P<seconds>{_F})"
_SIZE = rf"(?P<size>{_N})"
_UNIT = r"(?P<rate_unit>10\^\d+bits/s|[KMG]?Bytes */s)"
_END = r"(?: .*)?$"


def _test(values: Values) -> str:
    """Return the test by its usual name, with the reason why a transaction is none."""
    title = values.get("test", "")
    name = _TITLES.get(title, title.replace(" ", "_") or "netperf")
    burst = values.get("burst", "an unknown number" if "first" in values else "0")
    if burst != "0":
        return f"{name} with a burst of {burst}"
    same_sizes = values.get("request") == values.get("response")
    return name if same_sizes else f"{name} of unlike sizes"


_stream = partial(NamedValue, "rate", "bandwidth", _RULE, units=_UNITS, size="size")
_omni = partial(NamedValue, "THROUGHPUT", "bandwidth", _RULE, units=_UNITS)
_rate = partial(
    NamedValue, quantity="message_rate", rule="per second", what="transactions, each a round trip"
)
_SPREAD: dict[Besides, str] = {
    "minimum": "MIN_LATENCY", "maximum": "MAX_LATENCY", "p50": "P50_LATENCY",
    "p90": "P90_LATENCY", "p99": "P99_LATENCY", "deviation": "STDDEV_LATENCY",
}  # fmt: skip
_half = partial(
    NamedValue, quantity="time", rule="per second", what="half round trip (1 / (2 × rate))",
    test="TCP_RR", pattern="latency", half_of_rate=True,
)  # fmt: skip
_whole = partial(
    NamedValue, quantity="time", rule="µs", what="whole round trip", units={"": 1e-6},
    besides=_SPREAD, test="(?:TCP|UDP)_RR.*",
)  # fmt: skip
_TO, _BACK = "TCP_(?:STREAM|SENDFILE)", "TCP_MAERTS"

DIALECT = Labelled(
    suite="netperf",
    begins={" TEST from ": r"^(?:MIGRATED )?[A-Z][\w/ ]{2,40} TEST from \S+ \("},
    opens=(
        r"^(?:MIGRATED )?(?P<test>[A-Z][\w/ ]{2,40}?) TEST from (?P<local>\S+) "
        r"(?:.* to (?P<remote>\S+))?(?:.*: (?P<first>first)\b(?: burst (?P<burst>\d+))?)?"
    ),
    values=(
        r"^(?!.* TEST from )(?=.*\bAF_INET|.*\bport \d|to |\(\S*\)|: |burst )"
        r"(?:(?:.*\bto )?(?P<remote>[\w.:-]+) \()?(?:.*: (?P<first>first)\b|.*)"
        r"(?:.*\bburst (?P<burst>\d+))?",
        rf"^ *{_N} +{_N} +{_SIZE} +{_S} +(?P<rate>{_F}){_END}",
        rf"^ *{_N} +{_N} +(?P<request>{_N}) +(?P<response>{_N}) +{_S}"
        rf" +(?P<transactions>{_F}){_END}",
        rf"^ *{_N} +{_SIZE} +{_S} +(?P<sent>{_N}) +(?P<errors>{_N}) +(?P<sent_rate>{_F}){_END}",
        rf"^ *{_N} +{_S} +(?P<received>{_N}) +(?P<rate>{_F}){_END}",
        rf"^bytes +.*secs?\.? .*?{_UNIT}(?:ec)?\b",
        r"^THROUGHPUT_UNITS=(?P<THROUGHPUT_unit>\S+)\s*$",
        r"^(?P<key>[A-Z][A-Z0-9_]{2,60})=(?P<value>.*)$",
    ),
    known=(
        rf"^\s*$|^(?:Recv|Socket|Size|Local|Send|bytes) |^Interim result|^ *{_N} +{_N} *$"
        r"|^Alignment|^!!! "
    ),
    figures=(
        _stream("one-way stream", _TO, "bandwidth"),
        _stream("one-way stream", _BACK, "bandwidth", origin=1),
        _stream("one-way datagrams, as received", "UDP_STREAM"),
        _omni("one-way stream", _TO, "bandwidth", "LOCAL_SEND_SIZE"),
        _omni("one-way stream", _BACK, "bandwidth", "REMOTE_SEND_SIZE", origin=1),
        _omni("stream", f"(?!{_TO}|{_BACK}).*", None, "LOCAL_SEND_SIZE"),
        _rate("transactions", size="request"),
        _half("transactions", size="request"),
        _rate("THROUGHPUT", size="REQUEST_SIZE", units={"Trans/s": 1.0}),
        _whole("MEAN_LATENCY", size="REQUEST_SIZE"),
    ),
    columns={
        "Throughput": "THROUGHPUT",
        "Throughput Units": "THROUGHPUT_unit",
        "Local Send Size": "LOCAL_SEND_SIZE",
        "Remote Send Size": "REMOTE_SEND_SIZE",
        "Request Size Bytes": "REQUEST_SIZE",
        "Protocol": "PROTOCOL",
        "Direction": "DIRECTION",
        "Mean Latency Microseconds": "MEAN_LATENCY",
        "Minimum Latency Microseconds": "MIN_LATENCY",
        "Maximum Latency Microseconds": "MAX_LATENCY",
        "Stddev Latency Microseconds": "STDDEV_LATENCY",
        "50th Percentile Latency Microseconds": "P50_LATENCY",
        "90th Percentile Latency Microseconds": "P90_LATENCY",
        "99th Percentile Latency Microseconds": "P99_LATENCY",
    },
    whole=("rate", "transactions", "THROUGHPUT", "MEAN_LATENCY"),
    sign="no figure in a known unit follows the test's title",
    settings={
        "PROTOCOL": "protocol",
        "DIRECTION": "direction",
        "burst": "burst",
        "errors": "send errors",
    },
    transports={"tcp": "TCP_.*"},
    named=_test,
).dialect
