"""Medians, and how sure a median ratio is."""

from statistics import median

__all__ = ["median", "median_with_interval", "pair_ratios"]


def pair_ratios(theirs, ours):
    """Round by round: above 1 where we are faster."""
    return [a / b for a, b in zip(theirs, ours)]


def median_with_interval(values):
    """Median and the 95 % interval of the median by order statistics (no distribution assumed)."""
    ordered = sorted(values)
    n = len(ordered)
    margin = 0.98 * n**0.5
    low = max(0, int(n / 2 - margin))
    high = min(n - 1, int(n / 2 + margin))
    return median(ordered), ordered[low], ordered[high]
