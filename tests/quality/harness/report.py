"""Figures of runs, as tables for people and as JSON."""

from dataclasses import dataclass

from .metrics import METRICS, Mean

HEADS = ("model", "precision", "mode", "nDCG@10", "recall@10", "MRR@10", "against the first")


@dataclass(frozen=True)
class Row:
    """The figures of a run."""

    run: object
    values: dict
    """Of each metric the values of all questions, in their order."""
    groups: dict
    """The mean nDCG@10 of each group of questions."""
    first: object = None
    """The row that it is compared with: the same model and mode in the first precision."""

    @property
    def means(self):
        """The mean of each metric."""
        return {name: Mean.of(values) for name, values in self.values.items()}

    @property
    def difference(self):
        """The mean difference of nDCG@10 to the first row, question by question."""
        if self.first is None:
            return None
        pairs = zip(self.values["ndcg10"], self.first.values["ndcg10"])
        return Mean.of([own - other for own, other in pairs])


def rows(runs, program, split):
    """The rows of the runs of a set."""
    firsts = {}
    for run in runs:
        rankings = run.rankings(program)
        gold_set = run.gold_set
        queries = [query for query in gold_set.queries if split in ("all", gold_set.splits[query.id])]
        evaluate = lambda metric: [metric(rankings[query.id], gold_set.relevant[query.id]) for query in queries]
        values = {name: evaluate(metric) for name, metric in METRICS.items()}
        groups = {}
        for query, value in zip(queries, values["ndcg10"]):
            groups.setdefault(query.group, []).append(value)
        means = {group: Mean.of(own) for group, own in groups.items()}
        kind = (run.system.model, run.mode)
        row = Row(run, values, means, firsts.get(kind))
        firsts.setdefault(kind, row)
        yield row


def table(rows, groups):
    """The lines of a table; with `groups` a line for the groups of each row."""
    cells = [HEADS, *map(row_cells, rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEADS))]
    for line, row in zip(cells, (None, *rows)):
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        if row is not None and groups:
            yield "    " + "  ".join(f"{group} {mean.value:.3f}" for group, mean in row.groups.items())


def row_cells(row):
    """The cells of a row."""
    means = row.means
    run = row.run
    # Words alone are compared without a model.
    model = ("any", "") if run.mode == "words" else (run.system.model, run.system.precision)
    return (
        *model,
        run.mode,
        with_error(means["ndcg10"], ""),
        f"{means['recall10'].value:.3f}",
        f"{means['mrr10'].value:.3f}",
        "" if row.difference is None else with_error(row.difference, "+"),
    )


def with_error(mean, sign):
    """A mean and its standard error."""
    error = "" if mean.error is None else f" ± {mean.error:.3f}"
    return f"{mean.value:{sign}.3f}{error}"


def as_json(row):
    """A row as a JSON object."""
    pair = lambda mean: None if mean is None else {"mean": mean.value, "standard_error": mean.error}
    run = row.run
    return {
        "set": run.gold_set.name,
        "model": run.system.model,
        "precision": run.system.precision,
        "mode": run.mode,
        "questions": len(row.values["ndcg10"]),
        **{name: pair(mean) for name, mean in row.means.items()},
        "difference": pair(row.difference),
        "groups": {group: pair(mean) for group, mean in row.groups.items()},
    }
