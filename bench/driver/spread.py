# SPDX-License-Identifier: BSL-1.0
"""Medians, quantiles, and confidence intervals of ratios."""

import random
from dataclasses import dataclass


def quantile(values, q):
    """The value with a share q of the values below it, interpolated linearly between neighbours."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


@dataclass(frozen=True)
class Spread:
    """The location of values: the median and the quartiles."""

    median: float
    p25: float
    p75: float
    lowest: float
    count: int

    @staticmethod
    def of(values):
        return Spread(median(values), quantile(values, 0.25), quantile(values, 0.75), min(values), len(values))


@dataclass(frozen=True)
class Interval:
    """A ratio and its confidence interval."""

    middle: float
    low: float
    high: float
    count: int

    def width(self):
        return (self.high - self.low) / self.middle


def interval(values, draws=400):
    """The 90 % confidence interval of the median of one value a round. With six rounds or more it is found by
    drawing rounds again and again. With fewer it reaches from the lowest to the highest value, and with one
    from 0 to infinity."""
    if len(values) < 2:
        return Interval(values[0], 0.0, float('inf'), 1)
    if len(values) < 6:
        return Interval(median(values), min(values), max(values), len(values))
    chance = random.Random(len(values))  # equal values always give equal intervals
    medians = [median(chance.choices(values, k=len(values))) for _ in range(draws)]
    return Interval(median(values), quantile(medians, 0.05), quantile(medians, 0.95), len(values))


def verdict(ratio, limit, margin):
    """The verdict on a ratio that should be at most `limit`: 'ok', 'BEHIND', or '?' if its interval contains
    the limit."""
    if ratio.high <= limit * margin:
        return 'ok'
    if ratio.low > limit * margin:
        return 'BEHIND'
    return '?'
