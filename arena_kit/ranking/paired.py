"""Compares two by what both have met. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from arena_kit.ranking.scores import CONFIDENCE, Interval


def difference_interval(values: Sequence[float]) -> Interval:
    """Return the mean of the differences and its 95% interval by Student's t over tasks, within -1 and 1.

    Half a task in favour of each side, by the largest difference there is, and a whole one without a difference are
    counted besides, which keeps the interval honest where few tasks or none differ. Sources: E. Miller, Adding error
    bars to evals, arXiv 2411.00640, section 4 (paired differences by question); A. Agresti and Y. Min, Simple improved
    confidence intervals for comparing matched proportions, Statistics in Medicine 24, 2005 (half a pair in each cell).
    """
    count, mean = len(values), float(np.mean(values))
    largest = max(map(abs, values)) or 1.0
    squares = float(np.sum(np.square(np.asarray(values) - mean))) + largest**2
    padded = count + 2
    # Every process of a site knows this module, few compute with it, and SciPy takes a third of a second to load.
    from scipy.special import stdtrit

    half = float(stdtrit(padded - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(squares / (padded - 1) / padded)
    middle = mean * count / padded
    return Interval(mean, min(mean, max(-1.0, middle - half)), max(mean, min(1.0, middle + half)))
