"""Void cases whose figures contradict each other: damaged or edited records prove nothing."""

import math

from msgspec.structs import replace

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.words import figures

#: Relative error that rounding and the histogram's resolution explain, by our reckoning.
ROUNDING = 0.02
#: Seconds of the narrowest bucket, by our reckoning.
RESOLUTION_S = 2e-9
#: Most seconds of a case for each second between the nodes' readings around it; 1.46 in 25,831
#: readings of recorded runs.
MOST_BETWEEN_READINGS = 2.0
#: Seconds that ranks of a busy machine may begin apart, by our reckoning.
APART_S = 0.1
#: A job's script measures its launches in whole seconds.
LAUNCH_CLOCK_S = 1.0
#: Fewest blocks of a case that may be means of several: the engine merges neighbours at 512.
MERGED_BLOCKS = 256


def void_contradictions(run: Run) -> Run:
    """Return the run with each such case failed, and the same run if there is none."""
    # Simulated cases have the simulator's clock, their launch that of the head.
    launches = tuple(_void(launch, simulated=run.fabric.simulated) for launch in run.launches)
    return run if launches == run.launches else replace(run, launches=launches)


def _void(launch: Launch, *, simulated: bool) -> Launch:
    cases_s, launch_s = sum(case.wall_s for case in launch.measurements), launch.ended.wall_s
    longer = ""
    # Records of two launches lasted longer than either: `completeness` names them.
    is_comparable = launch_s > 0.0 and not simulated and not launch.mixed
    if is_comparable and cases_s > (1.0 + ROUNDING) * launch_s + LAUNCH_CLOCK_S:
        lasted = f"{figures.duration(cases_s)}, and the launch {figures.duration(launch_s)}"
        longer = f"the cases of its launch lasted {lasted}"
    reasons = [
        _contradiction(case) or (longer if case.status == "ok" else "")
        for case in launch.measurements
    ]
    if not any(reasons):
        return launch
    measurements = (
        replace(case, status="failed", reason=reason, times=None, samples=0) if reason else case
        for case, reason in zip(launch.measurements, reasons, strict=True)
    )
    return replace(launch, measurements=tuple(measurements))


def _contradiction(case: Measurement) -> str:
    """Return how a case contradicts itself; empty if it does not."""
    times = case.times
    if case.status != "ok" or times is None or case.samples < 1:
        return ""
    numbers_s = (times.low_s, times.median_s, times.high_s)
    if not all(0 < number_s < math.inf for number_s in numbers_s):
        return f"its times are {times.low_s:g}, {times.median_s:g} and {times.high_s:g} s"
    if case.batch < 1:
        return f"a sample is the mean of {case.batch} operations"
    median_s, median = times.median_s, figures.duration(times.median_s)
    blocks = case.block_medians_s
    least, most = 1.0 - ROUNDING, 1.0 + ROUNDING
    if 0 < len(blocks) < MERGED_BLOCKS:
        if not least * min(blocks) <= median_s <= most * max(blocks):
            return f"its median is {median}, and no block is on both sides of it"
        if times.confidence > 1.0 - 2.0 ** (1 - len(blocks)):
            share = figures.percent(times.confidence)
            return f"its interval claims {share}, which {len(blocks)} blocks do not support"
    if times.minimum_s > most * median_s:
        return f"its minimum is {figures.duration(times.minimum_s)}, and its median {median}"
    if median_s > most * times.maximum_s:
        return f"its maximum is {figures.duration(times.maximum_s)}, and its median {median}"
    if case.histogram_ps:
        count = sum(samples for _, samples in case.histogram_ps)
        if count != case.samples:
            return f"its histogram holds {count} of {case.samples} samples"
        error = ROUNDING + 2.0 * case.histogram_resolution
        for name, extreme_s, bucket in (
            ("minimum", times.minimum_s, case.histogram_ps[0]),
            ("maximum", times.maximum_s, case.histogram_ps[-1]),
        ):
            bucket_s = bucket[0] * 1e-12
            if abs(bucket_s - extreme_s) > error * extreme_s + RESOLUTION_S:
                return (
                    f"its {name} is {figures.duration(extreme_s)}, and its histogram's"
                    f" {figures.duration(bucket_s)}"
                )
    if reason := _wrong_duration(case):
        return reason
    if case.together is not None:
        return ""
    sent = case.payload_sent_bytes[case.sender : case.sender + 1] if case.sender >= 0 else ()
    needed = case.samples * case.batch * case.sample_payload_bytes
    if sent and 0 < sent[0] < least * needed:  # 0: not counted
        return f"its samples need {needed} payload bytes, and {sent[0]} were sent"
    if case.sample_payload_bytes > case.message_bytes * max(1, case.window) * case.threads:
        return (
            f"a sample has {case.sample_payload_bytes} bytes, more than"
            f" {max(1, case.window)} messages of {case.message_bytes}"
        )
    return ""


def _wrong_duration(case: Measurement) -> str:
    """Return how the duration of a case contradicts its samples or the times of its readings."""
    # Ranks that measure together, and threads, take their samples at the same time.
    at_once = max(1, case.threads) * (max(1, len(case.payload_sent_bytes)) if case.together else 1)
    total_s = sum(low_ps * samples for low_ps, samples in case.histogram_ps) * 1e-12
    samples_s = case.batch * total_s / at_once
    lasted = figures.duration(case.wall_s)
    if case.wall_s < (1.0 - ROUNDING) * samples_s:
        return f"it lasted {lasted}, and its samples {figures.duration(samples_s)}"
    reads = [node.read_utc_s for node in case.counters]
    if len(reads) < 2 or not all(reads):
        return ""
    # A clock may be set during a case, so all nodes' readings have to agree.
    between_s = max(read[-1] - read[0] for read in reads)
    if case.wall_s > MOST_BETWEEN_READINGS * max(0.0, between_s) + APART_S:
        return f"it lasted {lasted} between readings {figures.duration(between_s)} apart"
    return ""
