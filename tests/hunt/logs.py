"""Logs in the form of real ones, sound or with one thing wrong; figures are our own."""

from collections.abc import Iterable, Mapping

#: One direction of EDR InfiniBand carries about 12,350 MB/s of payload.
EDR_MB_S: Mapping[int, float] = {
    1 << 10: 2100.0, 1 << 12: 5200.0, 1 << 14: 9000.0, 1 << 16: 11900.0, 1 << 18: 12200.0,
    1 << 20: 12280.4, 1 << 22: 12290.1,
}  # fmt: skip
EDR_US: Mapping[int, float] = {
    0: 0.98, 8: 1.00, 64: 1.08, 1 << 10: 1.75, 1 << 12: 2.9, 1 << 14: 5.1, 1 << 16: 9.8,
    1 << 18: 26.2, 1 << 20: 90.1, 1 << 22: 346.0,
}  # fmt: skip


def scaled(rows: Mapping[int, float], factor: float, *sizes: int) -> dict[int, float]:
    """Rows with those of ``sizes`` (all if none is named) times ``factor``."""
    return {n: v * (factor if not sizes or n in sizes else 1.0) for n, v in rows.items()}


def table(rows: Iterable[tuple[int, float]]) -> str:
    return "".join(f"{size:<16}{value:>12.2f}\n" for size, value in rows)


def osu_bw(rows: Mapping[int, float] = EDR_MB_S, title: str = "Bandwidth", before: str = "") -> str:
    heading = f"# OSU MPI {title} Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
    return before + heading + table(rows.items())


def osu_latency(rows: Mapping[int, float] = EDR_US, before: str = "") -> str:
    heading = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
    return before + heading + table(rows.items())


def osu_collective(title: str, share: float) -> str:
    """A collective that takes ``share`` of the time in which one message crosses the link."""
    rows = {size: share * size / 12421.0 for size in (1 << 18, 1 << 20, 1 << 22)}
    heading = f"# OSU {title} Latency Test v7.4\n# Datatype: MPI_INT.\n"
    return f"{heading}# Size       Avg Latency(us)\n{table(rows.items())}"


def osu_iallreduce(share: float) -> str:
    """Its communication alone takes ``share`` of the time in which one message crosses the link."""
    rows = "".join(
        f"{size:<16}{2 * us:>12.2f}{us:>12.2f}{us:>12.2f}{0.0:>12.2f}\n"
        for size in (1 << 18, 1 << 20, 1 << 22)
        for us in [share * size / 12421.0]
    )
    heading = "# OSU MPI Non-blocking Allreduce Latency Test v7.4\n# Datatype: MPI_INT.\n"
    columns = "# Size   Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)\n"
    return f"{heading}# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n{columns}{rows}"


def osu_mbw_mr(rows: Iterable[tuple[int, float, float]], pairs: int = 2, before: str = "") -> str:
    heading = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
        f"# [ pairs: {pairs} ] [ window size: 64 ]\n# Datatype: MPI_CHAR.\n"
        "# Size                  MB/s        Messages/s\n"
    )
    lines = (f"{size:<16}{rate:>12.2f}{messages:>18.2f}\n" for size, rate, messages in rows)
    return before + heading + "".join(lines)


def perftest(
    gbit_s: float, *, device: str = "mlx5_0", local: str = "0x0001", remote: str = "0x0002",
    columns: str = "BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]", end: bool = True,
) -> str:  # fmt: skip
    rule = "-" * 87 + "\n"
    return (
        f"{rule}                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : "
        f"{device}\n Number of qps   : 1\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ"
        "      : OFF\n TX depth        : 128\n CQ Moderation   : 100\n Mtu             : 4096[B]\n"
        " Link type       : IB\n Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n Data ex. method : "
        f"Ethernet\n{rule} local address: LID {local} QPN 0x0127 PSN 0x2c3d9e RKey 0x17eb VAddr "
        f"0x007f3a\n remote address: LID {remote} QPN 0x0128 PSN 0x4b7c11 RKey 0x17ec VAddr "
        f"0x007f3b\n{rule} #bytes     #iterations    {columns}\n"
        f" 1048576    5000             {gbit_s + 0.3:.2f}              {gbit_s:.2f}"
        f"\t\t   {gbit_s / 8388.6:.6f}\n" + (rule if end else "")
    )


def nccl(busbw: float, before: str = "", out_of_place_errors: str = "0") -> str:
    return before + (
        "# nThread 1 nGpus 1 minBytes 8388608 maxBytes 8589934592 step: 2(factor) warmup iters: 5"
        " iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
        "#  Rank  0 Group  0 Pid   1001 on  n1 device  0 [0x18] NVIDIA H100 80GB HBM3\n"
        "#  Rank  1 Group  0 Pid   1002 on  n2 device  0 [0x18] NVIDIA H100 80GB HBM3\n#\n"
        "#                                                              out-of-place               "
        "        in-place          \n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
        "time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
        "(us)  (GB/s)  (GB/s)       \n"
        f"  1073741824     268435456     float     sum      -1  {1073.741824e3 / busbw:.1f}  "
        f"{busbw:.2f}  {busbw:.2f}      {out_of_place_errors}  {1073.741824e3 / busbw:.1f}  "
        f"{busbw:.2f}  {busbw:.2f}      0\n"
        f"# Out of bounds values : {'0 OK' if out_of_place_errors == '0' else '7 FAILED'}\n"
        f"# Avg bus bandwidth    : {busbw:.4f}\n#\n"
    )


def imb_pingpong(rows: Mapping[int, float] = EDR_US, processes: str = "2", before: str = "") -> str:
    lines = "".join(
        f"{size:>13}{1000:>13}{us:>13.2f}{size / us if us else 0:>13.2f}\n"
        for size, us in rows.items()
    )
    return before + (
        "#------------------------------------------------------------\n"
        "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n"
        "#------------------------------------------------------------\n"
        "# MPI Thread Environment: MPI_THREAD_SINGLE\n\n"
        "#---------------------------------------------------\n# Benchmarking PingPong \n"
        f"# #processes = {processes} \n"
        + ("# ( 62 additional processes waiting in MPI_Barrier)\n" if processes == "2 " else "")
        + "#---------------------------------------------------\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n" + lines + "\n"
    )
