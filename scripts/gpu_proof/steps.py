"""The steps of the proof, in their order. Each says what it needs, and gives one result."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_proof.bench import Bench, Completed, Result, Status
from gpu_proof.curves import (
    EngineOutput,
    compare_figures,
    gather,
    ratios,
    read_copies,
    read_engine,
    read_osu,
    read_pingpong,
)

SIZES = (0, 8, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20)
#: A rehearsal shows that the steps run, not what they measure.
FEW_SIZES = (0, 8, 64 << 10, 1 << 20)
#: Messages of a window, as in ``programs/pingpong.cpp``.
WINDOW, FEW_FROM, FEW = 16, 16 << 20, 4
ROUNDS = 3
#: What OSU measures too: D D, and H H as the baseline.
OSU_MEMORY = ("host", "cuda")
#: How far the engine and the second program may be apart, at the median over all points.
ALIKE = 0.15


@dataclass(frozen=True)
class Step:
    name: str
    title: str
    needs: tuple[str, ...]
    on_gpu: bool
    work: Callable[[Bench], Result]


# ------------------------------------------------------------------ starting programs


def mpi_env(bench: Bench, **more: str) -> dict[str, str]:
    """Return the variables that the carried MPI needs at another place than it was made for."""
    prefix = bench.folder("mpi")
    paths = [str(prefix / "libucx"), str(prefix / "lib")]
    if bench.rehearsal:
        # Without CUDA's run-time library UCX leaves the stand-in's allocations alone.
        paths.insert(0, str(bench.folder("stand-in")))
    else:
        paths.append(str(prefix / "libucx" / "cuda"))
    return {
        "OPAL_PREFIX": str(prefix), "PRTE_PREFIX": str(prefix), "PMIX_PREFIX": str(prefix),
        "PATH": f"{prefix / 'bin'}:{os.environ.get('PATH', '')}",
        "LD_LIBRARY_PATH": ":".join([*paths, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "UCX_WARN_UNUSED_ENV_VARS": "n",
        **more,
    }  # fmt: skip


def two_ranks(bench: Bench, *argv: str, preload: bool = True) -> list[str]:
    """Return the command that starts a program as two ranks here, over UCX."""
    words = [
        str(bench.folder("mpi") / "bin" / "mpirun"), "-np", "2", "--host", "localhost:2",
        "--bind-to", "none", "--mca", "pml", "ucx", "--mca", "osc", "ucx",
        "--mca", "opal_common_ucx_tls", "any", "--mca", "opal_common_ucx_devices", "any",
    ]  # fmt: skip
    library = bench.folder("programs") / "says_yes.so"
    if preload and library.exists():
        words += ["-x", f"LD_PRELOAD={library}"]
    return [*words, *argv]


def cases(sizes: Sequence[int] = SIZES, budget_s: float = 0.1) -> str:
    """Return the engine's input: latency, and bandwidth of a window, at each size."""
    lines = []
    for size in sizes:
        window = FEW if size >= FEW_FROM else WINDOW
        for pattern, messages in (("latency", 1), ("bandwidth", window))[: 2 if size else 1]:
            lines.append(
                f"{pattern}/{size} pattern={pattern} bytes={size} window={messages} origin=0"
                f" target=1 budget_s={budget_s:g}"
            )
    return "\n".join([*lines, "end", ""])


def run_engine(
    bench: Bench, name: str, memory: str, *options: str, text: str = "", preload: bool = True,
    limit_s: float = 90.0, env: Mapping[str, str] | None = None,
) -> tuple[EngineOutput, Completed]:  # fmt: skip
    engine = str(bench.folder("engine") / "fabricgauge-engine")
    argv = two_ranks(bench, engine, "--memory", memory, "--grace", "20", *options, preload=preload)
    text = text or (cases(FEW_SIZES, 0.02) if bench.rehearsal else cases())
    completed = bench.execute(
        name, argv, limit_s=limit_s, env=mpi_env(bench, **(env or {})), text=text
    )
    return read_engine(completed.stdout), completed


def run_pingpong(
    bench: Bench, name: str, memory: str, **env: str
) -> tuple[dict[tuple[str, int], float], tuple[str, ...], Completed]:
    program = str(bench.folder("programs") / "pingpong")
    sizes, seconds = (FEW_SIZES, "0.02") if bench.rehearsal else (SIZES, "0.1")
    argv = two_ranks(bench, program, memory, seconds, *map(str, sizes), preload=False)
    completed = bench.execute(name, argv, limit_s=90.0, env=mpi_env(bench, **env))
    return *read_pingpong(completed.stdout), completed


#: Options of OSU for the engine's sizes: its bandwidth has the engine's window at each of them.
OSU_STARTS = (
    ("latency", "osu_latency", ("-m", f"0:{SIZES[-1]}", "-i", "200", "-x", "20")),
    ("bandwidth", "osu_bw",
     ("-m", f"8:{FEW_FROM >> 1}", "-W", str(WINDOW), "-i", "20", "-x", "5")),
    ("bandwidth", "osu_bw",
     ("-m", f"{FEW_FROM}:{SIZES[-1]}", "-W", str(FEW), "-i", "20", "-x", "5")),
)  # fmt: skip
FEW_OSU_STARTS = (
    ("latency", "osu_latency", ("-m", f"0:{FEW_SIZES[-1]}", "-i", "20", "-x", "5")),
    ("bandwidth", "osu_bw",
     ("-m", f"8:{FEW_SIZES[-1]}", "-W", str(WINDOW), "-i", "10", "-x", "2")),
)  # fmt: skip


def run_osu(bench: Bench, name: str, memory: str) -> tuple[dict[tuple[str, int], float], str]:
    """Run OSU's latency and bandwidth; return figures, and what it said if some are lacking.

    A rehearsal has them measure host memory: CUDA's runtime takes no stand-in for a driver.
    """
    places = ["-d", "cuda", "D", "D"] if memory == "cuda" and not bench.rehearsal else ["H", "H"]
    figures: dict[tuple[str, int], float] = {}
    words = ""
    for number, (pattern, program, options) in enumerate(
        FEW_OSU_STARTS if bench.rehearsal else OSU_STARTS
    ):
        argv = two_ranks(
            bench, str(bench.folder("osu") / program), *options, *places, preload=False
        )
        completed = bench.execute(f"{name}-{number}", argv, limit_s=40.0, env=mpi_env(bench))
        rows = read_osu(completed.stdout, pattern)
        figures |= rows
        if completed.exit_status or not rows:
            words = words or f"{program} {' '.join(places)}: {completed.last_words}"
    return figures, words


def engine_sentence(completed: Completed) -> str:
    """Return the engine's own sentence in what it wrote; empty if it wrote none."""
    lines = completed.stderr.splitlines()
    return next((line.strip()[:400] for line in lines if "fabricgauge-engine: " in line), "")


def engine_words(completed: Completed) -> str:
    """Return the engine's own sentence in what it wrote, else the last line."""
    return engine_sentence(completed) or completed.last_words


def refused_with(completed: Completed, words: str) -> bool:
    """Check that the engine ended by itself, in vain, with its own sentence of ``words``."""
    ended = completed.exit_status > 0
    return ended and re.search(words, engine_sentence(completed)) is not None


# ------------------------------------------------------------------ the steps


def look_at_machine(bench: Bench) -> Result:
    """Keep what the machine says of itself; a tool that is not there is named."""
    commands = (
        ("uname", "-a"), ("lscpu",), ("nvidia-smi",), ("nvidia-smi", "-q"),
        ("nvidia-smi", "topo", "-m"), ("nvidia-smi", "topo", "-p2p", "r"),
        ("nvidia-smi", "nvlink", "-s"),
        ("nvidia-smi", "--format=csv",
         "--query-gpu=index,name,pci.bus_id,pcie.link.gen.max,pcie.link.width.max,"
         "pcie.link.gen.current,pcie.link.width.current,compute_mode,driver_version"),
        ("lspci", "-vvv"), ("lspci", "-tv"), ("numactl", "-H"), ("ip", "-d", "address"),
        ("cat", "/proc/driver/nvidia/version"), ("cat", "/proc/cmdline"), ("cat", "/proc/meminfo"),
        ("find", "/sys/kernel/iommu_groups", "-maxdepth", "3"), ("find", "/sys/class/infiniband"),
        ("find", "/dev", "-name", "nvidia*"), ("lsmod",),
    )  # fmt: skip
    absent = []
    for argv in commands:
        name = "-".join(argv[:3]).replace("/", "_").lstrip("_")[:60]
        completed = bench.execute(f"machine-{name}", argv, limit_s=20.0)
        if completed.exit_status:
            absent.append(f"`{' '.join(argv)[:60]}`: {completed.last_words[:120]}")
    sentence = f"{len(commands) - len(absent)} of {len(commands)} printouts were taken"
    return Result("done", sentence, [f"- not taken: {line}" for line in absent])


def ask_the_mpi(bench: Bench) -> Result:
    """Have MPI and UCX say what they use for a message of GPU memory."""
    prefix = bench.folder("mpi")
    argv = [str(prefix / "bin" / "ompi_info"), "--parsable", "--all"]
    info = bench.execute("mpi-ompi_info", argv, env=mpi_env(bench), limit_s=30.0)
    parts = {":".join(line.split(":")[1:3]) for line in info.stdout.splitlines()
             if line.startswith(("mca:pml:ucx", "mca:accelerator"))}  # fmt: skip
    output, completed = run_engine(
        bench, "mpi-words", "cuda", text=cases(FEW_SIZES, 0.02), limit_s=30.0,
        env={"UCX_LOG_LEVEL": "info", "UCX_PROTO_INFO": "y"},
    )  # fmt: skip
    words = f"{completed.stdout}\n{completed.stderr}"
    lines = [f"- Open MPI has {', '.join(sorted(parts)) or 'no component of UCX'}"]
    lines += [
        f"- `{text}`"
        for text in dict.fromkeys(re.findall(r"UCX +INFO +(.*(?:cfg#|Version).*)", words))
    ]
    names = sorted(set(re.findall(r"\b(?:cuda_\w+|gdr_copy)", words)))
    if not output.figures:
        return Result("failed", engine_words(completed), lines)
    if names:
        return Result("done", f"UCX uses {', '.join(names)}", lines)
    return Result(
        "done" if bench.rehearsal else "failed", "UCX names no transport for GPU memory", lines
    )


def be_refused(bench: Bench) -> Result:
    """Show what a user meets whose MPI does not say that it takes GPU memory."""
    output, completed = run_engine(
        bench, "refused", "cuda", preload=False, text=cases((8,)), limit_s=30.0
    )
    if output.figures:
        return Result("done", "the MPI says by itself that it is GPU-aware; nothing was refused")
    if not refused_with(completed, "does not say that it is GPU-aware"):
        return Result("failed", f"it failed otherwise: {engine_words(completed)}")
    return Result("done", f"refused, as it should be: {engine_words(completed)}")


def measure(memory: str, rounds: int) -> Callable[[Bench], Result]:
    """Return a step: engine, ping-pong and, if it was packed, OSU in turns over that memory."""

    def work(bench: Bench) -> Result:
        name = memory.replace(",", "-")
        launches: list[EngineOutput] = []
        others: list[dict[tuple[str, int], float]] = []
        problems: list[str] = []
        words: list[str] = []
        osu: list[dict[tuple[str, int], float]] = []
        lack = bench.lacks("osu") if memory in OSU_MEMORY else ""
        for number in range(1, (1 if bench.rehearsal else rounds) + 1):
            figures, bad, completed = run_pingpong(bench, f"pingpong-{name}-{number}", memory)
            others.append(figures)
            problems += bad
            if not figures:
                words.append(f"pingpong: {completed.last_words}")
            output, completed = run_engine(bench, f"engine-{name}-{number}", memory)
            launches.append(output)
            problems += output.failures
            if not output.figures:
                words.append(f"engine: {engine_words(completed)}")
                break
            if memory in OSU_MEMORY and not lack:
                figures, silent = run_osu(bench, f"osu-{name}-{number}", memory)
                osu.append(figures)
                problems += [silent] if silent else []
        mine = gather(output.figures for output in launches)
        theirs = gather(others)
        lines = compare_figures(mine, theirs, "ping-pong")
        if osu:
            lines += ["", *compare_figures(mine, gather(osu), "OSU (mean)", both=True)]
        if lack:
            lines += ["", f"- OSU was not asked: {lack}; `pack --osu PATH` takes its sources along"]
        ends = next((output.memory for output in launches if output.memory), ())
        lines += ["", *(f"- {end}" for end in ends), *(f"- {problem}" for problem in problems[:8])]
        if not mine or not theirs:
            return Result("failed", "; ".join(words) or "no figure came", lines)
        shares = ratios(mine, theirs)
        middle = statistics.median(shares)
        verdict = (
            f"engine / ping-pong {middle:.3f} at the median of {len(shares)} points"
            f" ({min(shares):.2f} to {max(shares):.2f})"
        )
        osu_shares = ratios(mine, gather(osu))
        if osu_shares:
            verdict += f", engine / OSU {statistics.median(osu_shares):.3f} of {len(osu_shares)}"
        asked_points = 2 * len(FEW_SIZES if bench.rehearsal else SIZES) - 1
        if len(shares) < asked_points:
            problems += [*words, f"figures of {len(shares)} points of {asked_points}"]
        if problems:
            return Result("failed", f"{problems[0]}; {verdict}", lines)
        if bench.rehearsal:
            return Result("done", f"{verdict}; not judged in a rehearsal", lines)
        middles = [middle, *([statistics.median(osu_shares)] if osu_shares else [])]
        good = all(abs(value - 1) <= ALIKE for value in middles)
        asked = "" if good else f"; looked for 1 ± {ALIKE}"
        return Result("done" if good else "failed", f"{verdict}{asked}", lines)

    return work


def check_data(bench: Bench) -> Result:
    """Run the engine with every byte compared."""
    text = cases((8, 8 << 10, 1 << 20, 16 << 20)[: 3 if bench.rehearsal else 4], 0.2)
    output, completed = run_engine(bench, "engine-check-data", "cuda", "--check-data", text=text)
    if not output.figures:
        return Result("failed", engine_words(completed))
    if output.failures:
        return Result("failed", output.failures[0], [f"- {line}" for line in output.failures])
    return Result(
        "done",
        f"{output.compared} samples in {len(output.figures)} cases were compared, all the same",
    )


def tell_staging(bench: Bench) -> Result:
    """Force both ways, and see whether UCX's words and the copies' ceiling tell them apart."""
    lines = [
        "| way asked for | MB/s | slowest copy MB/s | share | UCX's words |",
        "|---|---:|---:|---:|---|",
    ]
    shares: dict[str, float] = {}
    for way, transports in (
        ("CUDA IPC", "cuda_copy,cuda_ipc,sm,self"),
        ("staged", "cuda_copy,sm,self"),
    ):
        size = 1 << 20 if bench.rehearsal else 16 << 20
        output, completed = run_engine(
            bench, f"staging-{way.replace(' ', '-')}", "cuda", text=cases((size,), 0.3),
            env={"UCX_TLS": transports, "UCX_PROTO_INFO": "y"},
        )  # fmt: skip
        rate = output.figures.get(("bandwidth", size))
        copy = output.copies.get(size)
        if rate is None or copy is None:
            lines.append(f"| {way} | – | – | – | {engine_words(completed)} |")
            continue
        slowest = size / max(copy)
        shares[way] = rate / slowest
        words = "; ".join(_protocols(completed)) or "none"
        lines.append(f"| {way} | {rate:.0f} | {slowest:.0f} | {rate / slowest:.2f} | {words} |")
    if len(shares) < 2:
        return Result("failed", "one of the two ways gave no figure", lines)
    apart = shares["CUDA IPC"] > 1.2 and shares["staged"] <= 1.2
    direct, staged = shares["CUDA IPC"], shares["staged"]
    sentence = f"IPC reaches {direct:.2f} and staging {staged:.2f} of the slowest copy"
    if bench.rehearsal:
        return Result(
            "done", f"{sentence}; both are host memory here, so nothing is told apart", lines
        )
    return Result(
        "done" if apart else "failed",
        f"{sentence}: {'told apart' if apart else 'not told apart'} by 1.2",
        lines,
    )


def _protocols(completed: Completed) -> Iterator[str]:
    """Yield the rows of UCX's tables of GPU memory for large messages, shortened."""
    seen: dict[str, None] = {}
    for line in f"{completed.stdout}\n{completed.stderr}".splitlines():
        if "..inf |" in line and "cuda" in line:
            seen[" ".join(line.partition("|")[2].replace("|", " ").split())[:100]] = None
    yield from list(seen)[:3]


def compare_copies(bench: Bench) -> Result:
    """Compare the engine's copies with those of a second program, and with others found here."""
    program = str(bench.folder("programs") / "copies")
    sizes = [size for size in (FEW_SIZES if bench.rehearsal else SIZES) if size]
    runs: list[dict[int, tuple[float, float]]] = []
    mine: list[dict[int, tuple[float, float]]] = []
    words = ""
    for number in range(1, (1 if bench.rehearsal else ROUNDS) + 1):
        completed = bench.execute(
            f"copies-{number}",
            [program, "0.05", *map(str, sizes)],
            env=mpi_env(bench),
            limit_s=60.0,
        )
        runs.append(read_copies(completed.stdout))
        words = words or ("" if runs[-1] else completed.last_words)
        output, completed = run_engine(
            bench, f"copies-engine-{number}", "cuda", text=cases(sizes, 0.002), limit_s=60.0
        )
        mine.append(dict(output.copies))
        words = words or ("" if mine[-1] else engine_words(completed))
    lines = [
        "| bytes | way | engine µs | program µs | ratio | engine MB/s |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    shares = []
    for size in sizes:
        for at, way in enumerate(("to device", "to host")):
            ours = [run[size][at] for run in mine if size in run]
            others = [run[size][at] for run in runs if size in run]
            if not ours or not others:
                continue
            left, right = statistics.median(ours), statistics.median(others)
            shares.append(left / right)
            lines.append(
                f"| {size} | {way} | {left:.2f} | {right:.2f} | {left / right:.3f} |"
                f" {size / left:.0f} |"
            )
    lines += ["", *_other_copies(bench)]
    if not shares:
        return Result("failed", words or "no copy was timed", lines)
    middle = statistics.median(shares)
    sentence = f"engine / program {middle:.3f} at the median of {len(shares)} points"
    if bench.rehearsal:
        return Result("done", f"{sentence}; not judged in a rehearsal", lines)
    good = abs(middle - 1) <= ALIKE
    return Result("done" if good else "failed", sentence, lines)


_TORCH = """
import sys, time
try:
    import torch
except ImportError as error:
    sys.exit(f"no PyTorch: {error}")
for size in map(int, sys.argv[1:]):
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    device = torch.empty(size, dtype=torch.uint8, device="cuda")
    figures = []
    for target, source in ((device, host), (host, device)):
        times = []
        for _ in range(30):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            target.copy_(source, non_blocking=True)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        figures.append(sorted(times)[15] * 1e6)
    print(size, *figures)
"""


def _other_copies(bench: Bench) -> Iterator[str]:
    """Yield what nvbandwidth and PyTorch, if this machine has them, say of the same copies."""
    program = shutil.which("nvbandwidth")
    if program:
        tests = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]
        completed = bench.execute("nvbandwidth", [program, "-t", *tests], limit_s=60.0)
        sums = [line.strip() for line in completed.stdout.splitlines() if line.startswith("SUM")]
        yield f"- nvbandwidth: {'; '.join(sums) or completed.last_words}"
    else:
        yield "- nvbandwidth is not on this machine's PATH"
    if bench.rehearsal:
        yield "- PyTorch was not asked: it needs a real driver"
        return
    completed = bench.execute(
        "torch-copies", ["python3", "-c", _TORCH, str(1 << 20), str(64 << 20)], limit_s=60.0
    )
    rows = read_copies(completed.stdout)
    yield from (
        f"- PyTorch, {size} bytes: {there:.2f} µs to the device, {back:.2f} µs to the host"
        for size, (there, back) in rows.items()
    )
    if not rows:
        yield f"- PyTorch: {completed.last_words}"


COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "sendrecv")


def find_nccl(bench: Bench) -> tuple[Path | None, str]:
    """Return NCCL's library and where it is from: this machine's own comes first."""
    if bench.rehearsal:
        return bench.folder("stand-in") / "libnccl.so.2", "a stand-in that copies host memory"
    for folder in _site_folders():
        for path in sorted(folder.glob("nvidia/nccl/lib/libnccl.so.2")):
            return path, "this machine's Python packages"
    carried = bench.folder("nccl") / "libnccl.so.2"
    if carried.exists():
        return carried, "the parts (only the code of the chosen GPU generations is left in it)"
    return None, bench.lacks("nccl")


def _site_folders() -> Iterator[Path]:
    python = shutil.which("python3")
    candidates = [Path(entry) for entry in sys.path]
    if python:
        prefix = Path(python).parent.parent
        candidates += sorted(prefix.glob("lib/python3*/site-packages"))
        candidates += sorted(prefix.glob("lib/python3*/dist-packages"))
    yield from (path for path in candidates if path.is_dir())


def run_nccl(bench: Bench) -> Result:
    """Run NCCL's collectives as far as one GPU allows, with its messages and its dumps."""
    library, origin = find_nccl(bench)
    if library is None:
        return Result("skipped", origin)
    program = str(bench.folder("programs") / "collectives")
    folder = bench.raw / "nccl"
    folder.mkdir(exist_ok=True)
    env = {
        "PROOF_NCCL": str(library), "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET,GRAPH,TUNING,ENV", "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_SHM_DISABLE": "0",
    }  # fmt: skip
    if bench.rehearsal:
        env = mpi_env(bench, **env)
    lines = [f"- NCCL: `{library}`, of {origin}", ""]
    good = 0
    runs: list[tuple[int, str, dict[str, str]]] = [
        (ranks, name, {}) for ranks in (1, 2) for name in COLLECTIVES
    ]
    runs.append((2, "all_reduce", {"PROOF_SAME_HOST": "1"}))
    lines += ["| ranks | collective | last row, or what it said |", "|---:|---|---|"]
    stuck, wrong = False, list[str]()
    for ranks, name, more in runs:
        if stuck and not more:
            continue  # two ranks of one GPU do not work here: the first one's words say why
        label = f"nccl-{ranks}-{name}{'-same-host' if more else ''}"
        dumps = {
            "NCCL_TOPO_DUMP_FILE": str(folder / f"{label}-topology.xml"),
            "NCCL_GRAPH_DUMP_FILE": str(folder / f"{label}-graph.xml"),
        }
        sizes = [
            str(size)
            for size in (8, 64 << 10, 1 << 20, 16 << 20, 64 << 20)[: 5 if ranks == 1 else 4]
        ]
        completed = bench.execute(
            label,
            [program, str(ranks), name, "0.2", *sizes],
            limit_s=30.0,
            env={**env, **dumps, **more},
        )
        (folder / f"{label}.log").write_text(completed.stdout, errors="replace")
        rows = [line for line in completed.stdout.splitlines() if line[:12].strip().isdecimal()]
        ended = completed.exit_status == 0 and rows
        good += bool(ended)
        if bad := re.search(r"Out of bounds values : ([1-9]\d*)", completed.stdout):
            wrong.append(f"{name} on {ranks} ranks: {bad[1]} wrong elements")
        stuck = stuck or (ranks == 2 and not ended)
        last_row = rows[-1] if ended else next(
            (line for line in completed.stdout.splitlines() if "Test NCCL failure" in line),
            completed.last_words,
        )  # fmt: skip
        lines.append(
            f"| {ranks}{' (same host)' if more else ''} | {name} |"
            f" `{' '.join(last_row.split())[:150]}` |"
        )
        if not good and len(lines) > 6:
            break  # nothing works: the other collectives would say the same
    status: Status = "done" if good >= len(COLLECTIVES) and not wrong else "failed"
    figures = f"{good} of {len(runs)} starts gave figures"
    return Result(status, "; ".join([*wrong[:1], figures]), lines)


def gauge(
    bench: Bench, name: str, *words: str, limit_s: float = 90.0,
    env: Mapping[str, str] | None = None,
) -> Completed:  # fmt: skip
    """Run fabricgauge itself, from the carried wheels."""
    env = {
        **(env or {}), "PYTHONPATH": str(bench.folder("site")), "COLUMNS": "120",
        # Each of several starts would compile all of the program again.
        "PYTHONDONTWRITEBYTECODE": "",
        "XDG_CACHE_HOME": str(bench.work / "cache"), "XDG_DATA_HOME": str(bench.work / "data"),
    }  # fmt: skip
    return bench.execute(
        name, [sys.executable, "-m", "fabricgauge", *words], env=env, limit_s=limit_s
    )


def read_by_gauge(bench: Bench) -> Result:
    """Have fabricgauge look at this machine, and read NCCL's outputs and dumps."""
    lines, wrong = [], []
    version = gauge(bench, "gauge-version", "--version")
    if version.exit_status:
        return Result("failed", f"fabricgauge does not start here: {version.last_words}")
    lines.append(f"- {version.stdout.strip()}")
    host = os.uname().nodename
    for verb, expected in EXPECTED.items():
        completed = gauge(bench, f"gauge-{verb}", verb, "--launcher", "local", "-w", host)
        words = [line.strip() for line in completed.stdout.splitlines() if "gpu" in line.lower()]
        summary = "; ".join(words[:6]) or completed.last_words
        lines.append(f"- {verb}: exit status {completed.exit_status}; {summary}")
        if completed.exit_status not in expected or not completed.stdout.strip():
            wrong.append(f"{verb}: exit status {completed.exit_status}: {completed.last_words}")
    logs = sorted((bench.raw / "nccl").glob("*")) if (bench.raw / "nccl").is_dir() else []
    logs = [path for path in logs if path.stat().st_size]
    if logs:
        completed = gauge(bench, "gauge-import-nccl", "import", str(bench.raw / "nccl"))
        words = [line.strip() for line in completed.stdout.splitlines() if line.strip()]
        lines += [f"- import of {len(logs)} files of NCCL: exit status {completed.exit_status}", ""]
        lines += ["```text", *(words[:40] or [completed.last_words]), "```"]
        if completed.exit_status not in (0, 1, 3) or not _is_judged(words):
            wrong.append(f"import: exit status {completed.exit_status}: {completed.last_words}")
    if wrong:
        return Result("failed", "; ".join(wrong)[:400], lines)
    read = f"read {len(logs)} files of NCCL" if logs else "no file of NCCL was there to read"
    return Result("done", f"fabricgauge started and looked; {read}", lines)


#: Exit statuses of a command that did its work; ``doctor`` returns 1 if it found a fault.
EXPECTED = {"discover": (0,), "doctor": (0, 1)}
OUTCOMES = ("PASS", "WARN", "FAIL", "INCONCLUSIVE", "INVALID")


def _is_judged(words: Sequence[str]) -> bool:
    """Check that a printed report begins with an outcome, as an error does not."""
    return bool(words) and words[0].split()[0] in OUTCOMES


def _measured_on_gpu(folder: Path) -> frozenset[str]:
    """Return the patterns that the runs in a folder measured from a GPU's memory."""
    measured = set()
    for path in folder.glob("*/results.jsonl"):
        for line in path.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)["record"]
                on_gpu = any(end["kind"] == "cuda" for end in record["memory"])
                if record["record"] == "case" and record["status"] == "ok" and on_gpu:
                    measured.add(record["pattern"])
            except (ValueError, KeyError, TypeError):
                continue
    return frozenset(measured)


def check_with_gauge(bench: Bench) -> Result:
    """Run ``check --memory cuda`` between two nodes of a lab; UCX carries the bytes over TCP.

    Unpinned: pinned to TCP, Open MPI would use its own TCP, which takes a GPU's address for the
    host's if Open MPI was built without CUDA.
    """
    library = bench.folder("programs") / "says_yes.so"
    env = mpi_env(
        bench, OMPI_MCA_pml="ucx", OMPI_MCA_opal_common_ucx_tls="any",
        OMPI_MCA_opal_common_ucx_devices="any", UCX_TLS="tcp,cuda_copy,sm,self",
        LD_PRELOAD=str(library),
    )  # fmt: skip
    folder = bench.work / "lab-runs"
    shutil.rmtree(folder, ignore_errors=True)
    completed = gauge(
        bench, "gauge-check-lab", "check", "--lab", "--unpinned", "--mpi",
        str(bench.folder("mpi") / "bin" / "mpicxx"), "--memory", "cuda", "--sizes", "8,64K,1MiB",
        "--patterns", "latency,bandwidth", "-o", str(folder), limit_s=120.0, env=env,
    )  # fmt: skip
    words = [line.rstrip() for line in completed.stdout.splitlines() if line.strip()]
    lines = ["```text", *(words[:30] or [completed.last_words]), "```"]
    lacking = {"latency", "bandwidth"} - _measured_on_gpu(folder)
    good = completed.exit_status in (0, 1, 3) and _is_judged(words) and not lacking
    sentence = (
        f"exit status {completed.exit_status}: {(words or [completed.last_words])[0].strip()}"
    )
    if lacking:
        sentence = f"no {' and no '.join(sorted(lacking))} from a GPU's memory; {sentence}"
    return Result("done" if good else "failed", sentence[:300], lines)


def meet_failures(bench: Bench) -> Result:
    """See what the engine says of a hidden GPU, a missing driver and a full memory."""
    lines, spoken, short = [], 0, cases((8, 16 << 20), 0.05)
    hidden = {"GPU_PLANTED_FAULT": "no-device"} if bench.rehearsal else {}
    broken = bench.work / "no-driver"
    broken.mkdir(exist_ok=True)
    (broken / "libcuda.so.1").write_bytes(b"")
    libraries = f"{broken}:{mpi_env(bench)['LD_LIBRARY_PATH']}"
    tries: tuple[tuple[str, str, str, tuple[str, ...], dict[str, str]], ...] = (
        ("no GPU is visible", "hidden", "no NVIDIA device", (),
         {"CUDA_VISIBLE_DEVICES": "", **hidden}),
        ("a GPU that does not exist", "number", "no NVIDIA device 63", ("--device", "63"), {}),
        ("the driver's library cannot be opened", "driver", r"no libcuda\.so\.1", (),
         {"LD_LIBRARY_PATH": libraries}),
    )  # fmt: skip
    if bench.rehearsal:
        tries += (("another process has the GPU to itself", "taken", "is busy: another process",
                   (), {"GPU_PLANTED_FAULT": "unavailable"}),)  # fmt: skip
    for what, name, words, options, env in tries:
        _, completed = run_engine(
            bench, f"failure-{name}", "cuda", *options, text=short, limit_s=30.0, env=env
        )
        spoken += refused_with(completed, words)
        lines.append(f"- {what}: {engine_words(completed)} ({completed.exit_status})")
    full, good = _full(bench, short)
    spoken += good
    lines.append(f"- the GPU's memory is full: {full}")
    if not bench.rehearsal:
        lines.append(
            "- a GPU that another process has to itself was not tried: it would change the GPU's"
            " compute mode, which this proof leaves as it is"
        )
    asked = len(tries) + 1
    return Result(
        "done" if spoken == asked else "failed",
        f"{spoken} of {asked} failures gave their sentence", lines,
    )  # fmt: skip


def _full(bench: Bench, text: str) -> tuple[str, bool]:
    """Return what the engine says beside a program that holds nearly all of the GPU's memory.

    The second value tells that the memory was held, and that the engine says it is full.
    """
    holder, held = None, "holding: planted"
    env = {"GPU_PLANTED_FAULT": "out-of-memory"} if bench.rehearsal else {}
    if not bench.rehearsal:
        program = str(bench.folder("programs") / "hold")
        holder = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        held = holder.stdout.readline().strip() if holder.stdout else ""
    try:
        output, completed = run_engine(
            bench, "failure-memory", "cuda", text=text, limit_s=30.0, env=env
        )
    finally:
        if holder is not None:
            holder.kill()
            holder.wait()
    failures = [failure for failure in output.failures if re.search(OUT_OF_MEMORY, failure)]
    good = bool(failures) or refused_with(completed, OUT_OF_MEMORY)
    said = next(iter([*failures, *output.failures]), engine_words(completed))
    return f"{said} ({held or 'nothing was held'})", good and held.startswith("holding")


#: The engine's words for a full GPU; the driver's name of the error stands in some of them.
OUT_OF_MEMORY = r"is out of memory|OUT_OF_MEMORY"

MEASURED = ("mpi", "engine", "programs")

#: What tells most comes first: a machine may be lent for minutes.
STEPS = (
    Step("machine", "The machine", (), False, look_at_machine),
    Step("mpi", "The MPI", MEASURED, True, ask_the_mpi),
    Step("host", "Host memory, the baseline", MEASURED, False, measure("host", 1)),
    Step("refused", "An MPI that does not say that it is GPU-aware", MEASURED, True, be_refused),
    Step("cuda", "GPU memory at both ends", MEASURED, True, measure("cuda", ROUNDS)),
    Step("data", "GPU memory, every byte compared", MEASURED, True, check_data),
    Step("lab", "A check on a lab, from GPU memory", ("site", "mpi"), True, check_with_gauge),
    Step("staging", "Staged or straight", MEASURED, True, tell_staging),
    Step("copies", "Copies between host and GPU", MEASURED, True, compare_copies),
    Step("nccl", "NCCL", ("programs",), True, run_nccl),
    Step("gauge", "fabricgauge on this machine", ("site",), False, read_by_gauge),
    Step("failures", "What fails", MEASURED, True, meet_failures),
    Step("cuda-host", "GPU memory at the origin", MEASURED, True, measure("cuda,host", 2)),
    Step("host-cuda", "GPU memory at the target", MEASURED, True, measure("host,cuda", 2)),
    Step("managed", "Managed memory", MEASURED, True, measure("managed", 1)),
)

NOT_SHOWN = (
    "GPUDirect RDMA: no network adapter reads the GPU's memory here; CUDA IPC between two ranks of"
    " one GPU is another way",
    "NVLink, NVSwitch, and PCI Express between two GPUs: `nvbandwidth` from GPU to GPU, slow ways",
    "NCCL between GPUs: one GPU takes one rank, or several that NCCL holds for ranks of other nodes"
    " and joins by sockets",
    "more than one node: rails, adapters that stay idle, SHARP, NVLS",
    "AMD's driver, RCCL",
    "a GPU in the compute mode EXCLUSIVE_PROCESS, and MIG: the proof changes no setting",
)
