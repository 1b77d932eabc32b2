"""Timing on a machine that is not quiet: functions take turns, medians are kept."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

Timed = Callable[[], object]


def machine() -> str:
    """Return the line that stands above every table: processor, threads, versions, load."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{os.cpu_count()} cores ({names[0] if names else platform.processor()}), "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}{load}"
    )


def interleaved(functions: Mapping[str, Timed], repetitions: int) -> dict[str, list[float]]:
    """Return the seconds of each repetition of each function, after one that is not counted.

    The functions take turns, so that a slow moment of the machine meets all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for repetition in range(repetitions + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if repetition:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def medians(functions: Mapping[str, Timed], repetitions: int) -> dict[str, float]:
    """Return the median seconds of each function."""
    timed = interleaved(functions, repetitions)
    return {name: statistics.median(seconds) for name, seconds in timed.items()}


def growth(sizes: Sequence[float | int], values: Sequence[float | int]) -> float:
    """Return b of the power law value = a size^b that fits best on a log-log plot.

    >>> round(growth([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)
