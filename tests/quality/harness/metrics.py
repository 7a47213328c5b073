"""Figures of a ranking: a list of ids, the best first, of which `relevant` ones should be found.

An id that occurs again counts only at its first place.
"""

import math
from dataclasses import dataclass
from statistics import fmean, stdev

DEPTH = 10
"""How many of the first results count."""


def found(ranking, relevant):
    """The places of relevant ids among the first results, from 0."""
    first = list(dict.fromkeys(ranking))[:DEPTH]
    return [place for place, name in enumerate(first) if name in relevant]


def gain(place):
    """The discounted gain of a relevant result."""
    return 1 / math.log2(place + 2)


def ndcg(ranking, relevant):
    """Normalised discounted cumulative gain, where all relevant ids have grade 1."""
    best = sum(map(gain, range(min(DEPTH, len(relevant)))))
    return sum(map(gain, found(ranking, relevant))) / best


def recall(ranking, relevant):
    """The share of relevant ids that are found."""
    return len(found(ranking, relevant)) / len(relevant)


def reciprocal_rank(ranking, relevant):
    """1 / the place of the first relevant result, from 1; 0 if there is none."""
    return next((1 / (place + 1) for place in found(ranking, relevant)), 0.0)


METRICS = {"ndcg10": ndcg, "recall10": recall, "mrr10": reciprocal_rank}


@dataclass(frozen=True)
class Mean:
    """A mean, and its standard error; none of a single value."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values):
        """The mean of values."""
        error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(fmean(values), error)
