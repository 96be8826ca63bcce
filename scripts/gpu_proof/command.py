"""The command line of ``scripts/gpu-proof``."""

import argparse
from pathlib import Path

from gpu_proof.pack import DEFAULT_ARCHITECTURES, pack
from gpu_proof.run import run

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / "build" / "gpu-proof"


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpu-proof", description="Prove it on a GPU.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="make the parts, where there is an internet")
    packing.add_argument("--output", type=Path, default=PARTS, metavar="DIR")
    packing.add_argument("--part-mib", type=int, default=40, metavar="N", help="largest part")
    packing.add_argument(
        "--architectures", default=",".join(map(str, DEFAULT_ARCHITECTURES)), metavar="SM,…",
        help="GPU generations whose code NCCL keeps, e.g. 90 for Hopper",
    )  # fmt: skip
    packing.add_argument(
        "--osu", type=Path, metavar="PATH",
        help="folder or archive of the OSU Micro-Benchmarks' sources: a third measurement",
    )  # fmt: skip
    packing.add_argument("--without", default="", metavar="ITEM,…", help="e.g. nccl")
    running = verbs.add_parser("run", help="unpack the parts, measure, and report")
    running.add_argument("--parts", type=Path, default=PARTS, metavar="DIR")
    running.add_argument("--output", type=Path, required=True, metavar="DIR")
    running.add_argument("--work", type=Path, default=Path("/tmp/gpu-proof"), metavar="DIR")  # noqa: S108
    running.add_argument(
        "--budget", type=float, default=450.0, metavar="S", help="time for all steps"
    )
    running.add_argument("--only", default="", metavar="STEP,…")
    running.add_argument("--rehearse", action="store_true", help="no GPU: a stand-in, host memory")
    options = parser.parse_args()
    if options.verb == "pack":
        return pack(ROOT, options)
    return run(ROOT, options)
