"""Unpack the parts, run every step, and write one report."""

import argparse
import datetime
import os
import shutil
import stat
import sys
import tarfile
import time
import zipfile
from pathlib import Path

from gpu_proof.bench import Bench, Result, find_driver
from gpu_proof.pack import PYTHON
from gpu_proof.parts import Unpacked, unpack
from gpu_proof.report import write_report
from gpu_proof.steps import STEPS, Step


def run(root: Path, options: argparse.Namespace) -> int:
    """Run the proof; exit status 0 if no step failed and no part was damaged or missing, else 1.

    3 if no GPU was measured.

    2 if the folder for the work is not this user's own.
    """
    begin = time.monotonic()
    output: Path = options.output
    output.mkdir(parents=True, exist_ok=True)
    reason = make_own_folder(options.work)
    if reason:
        print(f"gpu-proof: {reason}; name another with --work", file=sys.stderr)
        return 2
    # One archive leaves the machine, not hundreds of files.
    raw = options.work / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    print(f"unpacking {options.parts}", flush=True)
    unpacked = without_foreign_wheels(unpack(options.parts, options.work / "items"))
    problems = [*unpacked.problems, *unpacked.missing.values(), *_lay_out(unpacked, options.work)]
    for problem in problems:
        print(f"  {problem}", flush=True)
    bench = Bench(root, options.work, raw, unpacked.items, unpacked.missing, options.rehearse,
                  begin + options.budget)  # fmt: skip
    why = _prepare_driver(bench)
    chosen = [step for step in STEPS if not options.only or step.name in options.only.split(",")]
    results: list[tuple[Step, Result]] = []
    report = output / "report.md"
    for step in chosen:
        print(f"{time.monotonic() - begin:6.1f} s  {step.title} …", flush=True)
        result = _run_step(bench, step, why)
        results.append((step, result))
        print(f"          {result.status}: {result.sentence}", flush=True)
        # A later step may take the machine along: what is known is on the disk before it begins.
        write_report(report, bench, results, problems, why, time.monotonic() - begin, _now())
    _pack_raw(raw, output / "raw.tar.xz")
    print(f"{time.monotonic() - begin:6.1f} s  {report}", flush=True)
    if why:
        return 3
    return 1 if problems or any(result.status == "failed" for _, result in results) else 0


def without_foreign_wheels(
    unpacked: Unpacked, version: tuple[int, ...] = sys.version_info[:2]
) -> Unpacked:
    """Leave out fabricgauge if its wheels are for another Python than this one."""
    here = f"{version[0]}.{version[1]}"
    if "site" not in unpacked.items or here == PYTHON:
        return unpacked
    items = {name: path for name, path in unpacked.items.items() if name != "site"}
    reason = f"site has wheels for Python {PYTHON}, and this is {here}: start with python{PYTHON}"
    return Unpacked(items, unpacked.problems, {**unpacked.missing, "site": reason})


def make_own_folder(folder: Path) -> str:
    """Make a folder that only this user can enter; return why it is not so, else an empty text.

    A program is run out of it: in /tmp another user may have made it before, or a link.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        return f"{folder} cannot be made: {error.strerror}"
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        return f"{folder} is no folder"
    if state.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{folder} may be written by others"
    folder.chmod(0o700)
    return ""


def _run_step(bench: Bench, step: Step, why_no_driver: str) -> Result:
    lack = bench.lacks(*step.needs)
    if lack:
        return Result("skipped", lack)
    if step.on_gpu and why_no_driver:
        return Result("skipped", why_no_driver)
    if bench.left_s < 5:
        return Result("skipped", "the time was spent: give it more by --budget")
    begin = time.monotonic()
    try:
        result = step.work(bench)
    except Exception as error:  # one broken step must not lose the others
        result = Result("failed", f"the step broke: {type(error).__name__}: {error}")
    result.seconds = time.monotonic() - begin
    return result


def _prepare_driver(bench: Bench) -> str:
    """Return why no GPU can be measured; empty if one can, or if a stand-in takes its place."""
    if not bench.rehearsal:
        bench.driver, why = find_driver()
        return why
    folder = bench.folder("stand-in")
    if not (folder / "libcuda.so.1").exists():
        return bench.lacks("stand-in") or "the stand-in for the driver was not unpacked"
    bench.driver = "stand-in, host memory"
    return ""


def _lay_out(unpacked: Unpacked, work: Path) -> list[str]:
    """Unpack each item into its folder; return a sentence for each that cannot be."""
    problems = []
    for name, path in unpacked.items.items():
        folder = work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
            for wheel in sorted(folder.glob("*.whl")):
                unpack_wheel(wheel, folder)
                wheel.unlink()
        except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
            problems.append(f"{name} cannot be unpacked: {error}")
    return problems


def unpack_wheel(wheel: Path, folder: Path) -> None:
    """Unpack a wheel; its programs may be executed, which zipfile forgets."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)  # noqa: S202 (our own parts)
        for member in packed.infolist():
            if not member.is_dir() and member.external_attr >> 16 & 0o100:
                (folder / member.filename).chmod(0o755)


def _pack_raw(raw: Path, archive: Path) -> None:
    with tarfile.open(archive, "w:xz", preset=3) as packed:
        packed.add(raw, "raw")


def _now() -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.strftime("%Y-%m-%d %H:%M UTC")
