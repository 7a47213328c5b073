"""Results as Markdown: medians, and how many times our time a peer takes."""

from .ratios import median, median_with_interval, pair_ratios

MB = 1e6


def clock(result):
    """One thread: process CPU time, the steadier; more: wall time."""
    return "cpu_ms" if result["threads"] == 1 else "wall_ms"


def our_peer(peers, kind):
    """Our own entry that a peer of this kind is held against, if it ran."""
    return next((name for name, p in peers.items() if p["ours"] and p["kind"] == kind), None)


def size_ratio(size, name, ours, key):
    """Median and interval of the round-by-round ratio, or None."""
    rounds = size["rounds"]
    if ours is None or ours not in rounds or name not in rounds:
        return None
    return median_with_interval(pair_ratios(rounds[name][key], rounds[ours][key]))


def milliseconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def markdown(header, rows):
    """A table whose first column is left-aligned, the others right."""
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    line = lambda cells: "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))) + " |"
    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])


def latency_tables(result):
    """One table a kind: medians in ms, the ratio to ours in brackets."""
    key, peers = clock(result), result["peers"]
    parts = [provenance(result)]
    for kind, title in (("f32", "f32"), ("int8", "8 bits")):
        ours = our_peer(peers, kind)
        rows = []
        for name, peer in sorted(peers.items(), key=lambda item: not item[1]["ours"]):
            if peer["kind"] == kind and any(name in size["rounds"] for size in result["sizes"]):
                rows.append([f"{peer['label']} {peer['version']}", *(latency_cell(size, name, ours, key) for size in result["sizes"])])
        if rows:
            sizes = [size["size"] for size in result["sizes"]]
            parts.append(markdown([f"{title}: {key.replace('_', ' ')}, by tokens", *sizes], rows))
    parts.append(agreement_table(result))
    if result["skipped"]:
        parts.append("Skipped:\n" + "\n".join(f"* {name}: {reason}" for name, reason in result["skipped"].items()))
    return "\n\n".join(parts)


def latency_cell(size, name, ours, key):
    if name not in size["rounds"]:
        return "–"
    value = milliseconds(median(size["rounds"][name][key]))
    ratio = size_ratio(size, name, ours, key)
    return value if ratio is None or name == ours else f"{value} ({ratio[0]:.2f}×)"


def agreement_table(result):
    """Lowest cosine to the f64 reference over the texts of each size."""
    rows = []
    for name, peer in result["peers"].items():
        cells = [size["cosine"].get(name) for size in result["sizes"]]
        if any(c is not None for c in cells):
            rows.append([peer["label"] + (" f32" if peer["kind"] == "f32" else ""), *("–" if c is None else f"{c:.6f}" for c in cells)])
    return markdown(["lowest cosine to f64", *(size["size"] for size in result["sizes"])], rows)


def ratio_lines(result):
    """Every ratio with its 95 % interval: what a claim rests on."""
    key, peers, lines = clock(result), result["peers"], []
    for name, peer in peers.items():
        ours = our_peer(peers, peer["kind"])
        for size in result["sizes"]:
            ratio = size_ratio(size, name, ours, key)
            if ratio and not peer["ours"]:
                lines.append(f"{name:18} {size['size']:>8}  {ratio[0]:.3f} [{ratio[1]:.3f}, {ratio[2]:.3f}]")
    return "\n".join(lines)


def cold_table(result):
    """Open, first embedding, memory."""
    peers = result["peers"]
    ours = our_peer(peers, "int8") or our_peer(peers, "f32")
    rows = []
    for name, peer in peers.items():
        against = our_peer(peers, peer["kind"]) or ours
        ratio = ""
        if against and name != against and not peer["ours"]:
            ratio = f" ({peer['cold_ms'] / peers[against]['cold_ms']:.1f}×)"
        rows.append(
            [
                f"{peer['label']}{' f32' if peer['kind'] == 'f32' else ''} {peer['version']}",
                milliseconds(peer["open_ms"]),
                milliseconds(peer["cold_ms"]) + ratio,
                f"{peer['file_bytes'] / MB:.1f}",
                f"{peer['peak_bytes'] / MB:.0f}",
                f"{peer['private_bytes'] / MB:.1f}",
            ]
        )
    header = ["", "open ms", "to first vector ms", "file MB", "peak MB", "private MB"]
    return "\n\n".join([provenance(result), markdown(header, rows)])


def provenance(result):
    """Where and how; every figure needs it beside it."""
    m, load = result["machine"], result["load"]
    return (
        f"{m['cpu']} (family/model/stepping {m['family_model_stepping']}; {', '.join(m['vector'])}), {m['cores']} cores, {m['system']}; "
        f"{result['threads']} thread{'s' if result['threads'] > 1 else ''}, {result['rounds']} interleaved rounds; "
        f"others kept {load['others_cores']:.2f} cores busy, {load['stolen_cores']:.2f} were stolen, over {load['seconds']:.0f} s"
    )
