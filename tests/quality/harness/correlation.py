"""Spearman's rank correlation."""

from statistics import correlation


def spearman(first, second):
    """The correlation of the ranks of two lists."""
    return correlation(ranks(first), ranks(second))


def ranks(values):
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or values[order[end]] != values[order[start]]:
            for at in order[start:end]:
                found[at] = (start + 1 + end) / 2
            start = end
    return found
