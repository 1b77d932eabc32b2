"""Learning rates and entropy weights as functions of the step within a phase."""

import math

from voi.config import Phase


def rate_factor(phase: Phase, step: int, total: int) -> float:
    """Return what the learning rates are multiplied by at a step of a phase, counted from 0.

    Linear warm-up, then constant, or held for a share of the phase and linear to zero at its end.
    """
    if step < phase.warmup:
        return (step + 1) / phase.warmup
    if phase.decay == "constant":
        return 1.0
    start = max(phase.warmup, phase.decay_hold * total)
    return min((total - step) / max(total - start, 1), 1.0)


def entropy_weight(phase: Phase, step: int, total: int) -> float:
    """Return beta at a step: held for a share of the phase, then log-linear to its final value.

    Without a final value it is constant, with a hold of 0 it is annealed from the first step.
    """
    if phase.entropy_final < 0:
        return phase.entropy_weight
    start = phase.entropy_hold * total
    progress = min(max((step - start) / max(total - 1 - start, 1), 0.0), 1.0)
    low = max(phase.entropy_final, 1e-8)  # log-linear down to 0 means down to where it is nothing
    value = math.exp((1 - progress) * math.log(phase.entropy_weight) + progress * math.log(low))
    return 0.0 if phase.entropy_final == 0 and progress == 1 else value
