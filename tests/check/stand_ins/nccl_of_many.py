#!/usr/bin/env python3
# ruff: noqa: T201
"""A stand-in for sendrecv_perf and all_reduce_perf of nccl-tests where there is no GPU.

It prints a table in the layout of nccl-tests 2.13 and the messages of NCCL 2.21, with figures that
the JSON file FABRICGAUGE_STAND_IN tells: ``gb_s``, and ``slow``: shares by host (``c3``) or by host
and interface (``c3:eth1``); a host without GPU is in ``broken``. ``crowd`` are shares of hosts
while another pair is measured, for which a pair waits a moment; nothing ends before ``hang``
seconds. The figures are no measurement.
The bytes are: each rank sends MOVED of them to the next one over the interface that
NCCL_SOCKET_IFNAME names, so that its counters agree. The ranks find each other by files beside the
JSON file; the one without a GPU leaves the word ``gone`` there, as MPI_Abort would end all ranks.
"""

import fcntl
import json
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path

RANK, SIZE = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
TOLD = Path(os.environ["FABRICGAUGE_STAND_IN"])
START = os.environ["FABRICGAUGE_CHILD"].replace("/", "_")
INTERFACE = os.environ["NCCL_SOCKET_IFNAME"].lstrip("=")
HOST = os.uname().nodename
MOVED = 12_000_000
SIZES = [1 << power for power in range(12, 23)]


def address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        named = struct.pack("256s", INTERFACE.encode())
        return socket.inet_ntoa(fcntl.ioctl(one, 0x8915, named)[20:24])  # SIOCGIFADDR


def placed(words: str) -> None:
    """What the other ranks read of this one, all at once."""
    draft = TOLD.with_name(f"{START}.{RANK}.draft")
    draft.write_text(words)
    draft.rename(TOLD.with_name(f"{START}.{RANK}"))


def said(rank: int) -> list[str]:
    path, deadline = TOLD.with_name(f"{START}.{rank}"), time.monotonic() + 30
    while not path.exists():
        if time.monotonic() > deadline:
            sys.exit(f"rank {rank} did not come")
        time.sleep(0.01)
    words = path.read_text().split()
    return words if words != ["gone"] else sys.exit(f"rank {rank} is gone")


def move() -> list[str]:
    """Send to the next rank and receive from the one before; the hosts of all ranks."""
    server = socket.create_server((address(), 0))
    placed(f"{HOST} {address()} {server.getsockname()[1]}")
    every = [said(rank) for rank in range(SIZE)]
    _, there, port = every[(RANK + 1) % SIZE]
    to = socket.create_connection((there, int(port)), source_address=(address(), 0))
    sender = threading.Thread(target=to.sendall, args=(bytes(MOVED),))
    sender.start()
    came, left = server.accept()[0], MOVED
    while left:
        left -= len(came.recv(1 << 20))
    sender.join()
    return [one[0] for one in every]


def crowded() -> bool:
    """Whether another start is under way, within a second; both sides have the time to look."""
    own, deadline = TOLD.with_name(f"{START}.active"), time.monotonic() + 1
    own.touch()
    while not (found := set(TOLD.parent.glob("*.active")) - {own}):
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    time.sleep(0.2)
    own.unlink()
    return bool(found)


def table(hosts: list[str], program: str) -> None:
    told = json.loads(TOLD.read_text())
    shares = [told["slow"].get(name, 1.0) for one in hosts for name in (one, f"{one}:{INTERFACE}")]
    if told.get("crowd") and crowded():
        shares += [told["crowd"].get(one, 1.0) for one in hosts]
    bus = told["gb_s"] * min(shares)
    factor = 1.0 if program.startswith("sendrecv") else 2 * (SIZE - 1) / SIZE
    sizes = f"minBytes {SIZES[0]} maxBytes {SIZES[-1]} step: 2(factor)"
    times = "warmup iters: 1 iters: 1 agg iters: 1"
    print(f"# nThread 1 nGpus 1 {sizes} {times} validation: 1 graph: 0\n#\n# Using devices")
    for rank, host in enumerate(hosts):
        print(f"#  Rank  {rank} Group  0 Pid   {100 + rank} on  {host} device  0 [0x81] stand-in")
    for rank, host in enumerate(hosts):
        of, ends = f"{host}:1:1 [0] NCCL INFO", f"{rank}[0] -> {(rank + 1) % SIZE}[0] [send]"
        print(f"{of} NET/Socket : Using [0]{INTERFACE}:{said(rank)[1]}<0>")
        print(f"{of} Using network Socket\n{of} Channel 00/0 : {ends} via NET/Socket/0")
    figures = "time   algbw   busbw #wrong"
    print(f"#       size         count      type   redop    root     {figures}     {figures}")
    for size in SIZES:
        rate = bus / factor
        cells = f"{size / rate / 1e3:8.2f} {rate:7.2f} {bus:7.2f}      0"
        print(f"{size:12} {size // 4:12}     float     sum      -1 {cells} {cells}")
    print(f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {bus:.4f}\n#")


if HOST in json.loads(TOLD.read_text()).get("broken", ()):
    placed("gone")
    sys.exit(f"{HOST}: Test CUDA failure common.cu:892 'no CUDA-capable device is detected'")
found = move()
time.sleep(json.loads(TOLD.read_text()).get("hang", 0))
if RANK == 0:
    table(found, Path(sys.argv[0]).name)
