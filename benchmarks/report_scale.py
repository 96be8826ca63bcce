"""Size of a report of many nodes, the time to make it, and the time until a browser shows it.

The nodes, their matrices and one planted fault are synthetic. The time is taken inside the page:
from the start of the navigation until the first plot, and all of them, are drawn.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from benchmarks.tables import heading, table
from tests.report import fabric_sample

from fabricgauge.model.errors import ToolMissing
from fabricgauge.report.formats import report

SIZES = (8, 128, 1024)
REPEATS = 5
LIMIT_S = 60.0
#: A browser that lives longer hangs.
LONGEST_S = 600.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

#: Two frames after the event the pixels are on the screen.
_WATCH = """
(() => {
  const seen = { first: null, all: null };
  Object.defineProperty(window, "fabricgaugeSeen", { value: seen });
  const look = () => {
    const mark = (name) => requestAnimationFrame(() => requestAnimationFrame(() => {
      seen[name] ??= performance.now() / 1e3;
    }));
    if (document.querySelector("svg.drawn") && seen.first === null) mark("first");
    if (document.documentElement?.dataset.drawn) mark("all");
    if (seen.all === null) setTimeout(look, 4);
  };
  look();
})();
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per number of nodes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=REPEATS, help="openings of each report")
    options = parser.parse_args(arguments)
    what = (
        "Two matrices of all pairs, a ranking, collectives, load; medians (least to most) of\n"
        f"{options.repeats} openings, each in a new browser without a screen. Times in s; on a\n"
        "busy machine the CPU seconds of the page's own process tell more."
    )
    print(heading("Reports of many nodes", what), flush=True)
    heads = ("nodes", "MB", "made (CPU)", "first plot", "all plots", "page's CPU")
    rows = [_row(nodes, options.repeats) for nodes in options.nodes]
    print(table(heads, rows), flush=True)


def _row(nodes: int, repeats: int) -> tuple[str, ...]:
    judged = fabric_sample.judged(fabric_sample.names(nodes))
    began = time.process_time()
    page = report(judged, "html").encode()
    made_s = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        file.write_bytes(page)
        seen = [_opened(file) for _ in range(repeats)]
    return (
        f"{nodes:,}", f"{len(page) / 1e6:.2f}", f"{made_s:.1f}",
        *(_spread([one[what] for one in seen]) for what in ("first", "all", "cpu")),
    )  # fmt: skip


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def _opened(file: Path) -> dict[str, float]:
    """Seconds until the first plot, and until all drawn at once; CPU s of the page's process."""
    with browser() as talk:
        made = talk("Target.createTarget", {"url": "about:blank"})
        attached = talk("Target.attachToTarget", {"targetId": made["targetId"], "flatten": True})
        session = attached["sessionId"]
        talk("Page.enable", {}, session)
        talk("Performance.enable", {}, session)
        talk("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH}, session)
        talk("Page.navigate", {"url": file.as_uri()}, session)
        give_up = time.monotonic() + LIMIT_S
        while time.monotonic() < give_up:
            asked = {"expression": "window.fabricgaugeSeen", "returnByValue": True}
            seen = talk("Runtime.evaluate", asked, session)["result"].get("value") or {}
            if seen.get("all") is not None:
                metrics = talk("Performance.getMetrics", {}, session)["metrics"]
                cpu = next(one["value"] for one in metrics if one["name"] == "ProcessTime")
                return {**{name: float(value) for name, value in seen.items()}, "cpu": cpu}
            time.sleep(0.1)
    raise AssertionError(f"no plot of {file} was drawn in {LIMIT_S:.0f} s")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser of its own, and a function that sends it one command of its debugging protocol.

    Messages are JSON, each ended by a zero byte, on descriptors 3 and 4
    (Chromium, ``--remote-debugging-pipe``); bash, since dash moves no descriptor above 9.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise ToolMissing(f"none of {', '.join(BROWSERS)} is on PATH")
    from_us, to_us = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        started = subprocess.Popen(
            ["bash", "-c", 'exec "$0" "$@" 3<&"$IN" 4>&"$OUT"', program, "--headless",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-component-update", "--disable-background-networking", "--disable-sync",
             "--window-size=1280,900", f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            env={**os.environ, "IN": str(from_us[0]), "OUT": str(to_us[1])},
            pass_fds=(from_us[0], to_us[1]), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(from_us[0])
        os.close(to_us[1])
        with os.fdopen(from_us[1], "wb") as sent, os.fdopen(to_us[0], "rb") as heard:
            hung = Timer(LONGEST_S, started.kill)
            hung.start()
            try:
                yield _talker(sent, heard)
            finally:
                started.terminate()
                started.wait()
                hung.cancel()


def _talker(sent: Any, heard: Any) -> Any:
    number = 0

    def talk(method: str, values: dict[str, Any], session: str = "") -> dict[str, Any]:
        nonlocal number
        number += 1
        told = {"id": number, "method": method, "params": values}
        told |= {"sessionId": session} if session else {}
        sent.write(json.dumps(told).encode() + b"\0")
        sent.flush()
        while True:
            answer = json.loads(_message(heard))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    return talk


def _message(heard: Any) -> bytes:
    """What comes up to the next zero byte."""
    read = bytearray()
    while (one := heard.read(1)) != b"\0":
        assert one, "the browser ended"
        read += one
    return bytes(read)


if __name__ == "__main__":
    main()
