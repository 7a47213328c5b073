"""The pictures: each as SVG for light and for dark pages, and as PNG for looking at."""

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from .ratios import median
from .tables import clock, milliseconds, our_peer, provenance, size_ratio

THEMES = {
    "light": {"ink": "#1f2328", "soft": "#59636e", "rule": "#d1d9e0", "ours": "#c2410c", "peer": "#9aa7b4", "paper": "#ffffff"},
    "dark": {"ink": "#f0f6fc", "soft": "#9198a1", "rule": "#3d444d", "ours": "#fb8c3c", "peer": "#5c6773", "paper": "#0d1117"},
}
# One hue a project, the 8-bit form dashed; told apart by people who see few colours by the markers too.
LINES = {
    "nanoembed": ("ours", "o"),
    "onnxruntime": ("#2f81f7", "s"),
    "rten": ("#2da44e", "^"),
    "candle": ("#a371f7", "D"),
    "tract": ("#bf8700", "v"),
    "llama.cpp": ("#d2609a", "P"),
}
KINDS = (("f32", "f32"), ("int8", "8-bit"))


def save(name, figure_of, out):
    """Draws `figure_of(theme)` in both themes."""
    out.mkdir(parents=True, exist_ok=True)
    for theme, colors in THEMES.items():
        matplotlib.rcParams.update(
            {
                "svg.hashsalt": "nanoembed",
                "svg.fonttype": "path",
                "font.size": 9.5,
                "text.color": colors["ink"],
                "axes.labelcolor": colors["soft"],
                "axes.edgecolor": colors["rule"],
                "xtick.color": colors["soft"],
                "ytick.color": colors["ink"],
                "axes.facecolor": "none",
                "figure.facecolor": "none",
            }
        )
        figure = figure_of(colors)
        figure.savefig(out / f"{name}-{theme}.svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
        figure.savefig(out / f"{name}-{theme}.png", dpi=130, facecolor=colors["paper"], bbox_inches="tight")
        pyplot.close(figure)


def bare(axes, *keep):
    """Only the spines named."""
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set_visible(side in keep)
    axes.tick_params(length=0)


def caption(figure, grid, text, colors, gap_inches=0.12):
    """A line below everything."""
    figure.canvas.draw()
    lowest = min(axes.get_tightbbox().y0 for axes in grid[-1]) / figure.dpi - gap_inches
    figure.text(0.5, lowest / figure.get_figheight(), text, ha="center", va="top", color=colors["soft"], fontsize=9)


# ---- latency: a panel a size, a bar a peer --------------------------------------------------------


def latency(result, out):
    save("latency", lambda colors: latency_figure(result, colors), out)


def latency_figure(result, colors):
    groups = [(kind, title, names) for kind, title in KINDS if (names := latency_names(result, kind))]
    sizes = result["sizes"]
    rows = [len(names) for _, _, names in groups]
    figure, grid = pyplot.subplots(
        len(groups), len(sizes), squeeze=False, figsize=(2.35 * len(sizes) + 1.2, 0.33 * sum(rows) + 1.5), gridspec_kw={"height_ratios": rows, "wspace": 0.12, "hspace": 0.2}
    )
    for row, (kind, title, names) in zip(grid, groups):
        for column, (axes, size) in enumerate(zip(row, sizes)):
            latency_panel(axes, result, size, kind, names, colors)
            if column == 0:
                axes.set_yticks(range(len(names)), [label(result, n, title) for n in names])
                for tick, name in zip(axes.get_yticklabels(), names):
                    ours = result["peers"][name]["ours"]
                    tick.set(color=colors["ours"] if ours else colors["ink"], fontweight="bold" if ours else "normal")
            else:
                axes.set_yticks([])
    for axes, size in zip(grid[0], sizes):
        many = size["texts"] > 1
        axes.set_title(f"{size['texts']} texts × {size['tokens']} tokens" if many else f"{size['tokens']} tokens", fontsize=10, fontweight="bold", color=colors["ink"], pad=7)
    unit = "CPU milliseconds" if clock(result) == "cpu_ms" else "milliseconds"
    threads = "one thread" if result["threads"] == 1 else f"{result['threads']} threads"
    one_by_one = [p["label"].split()[0] for p in result["peers"].values() if p["one_by_one"]]
    note = f" {one_by_one[0]} takes one text a call." if one_by_one and any(s["texts"] > 1 for s in sizes) else ""
    caption(figure, grid, f"{unit} to embed, {threads}, all-MiniLM-L6-v2; shorter is better. In brackets: times ours.{note}", colors)
    return figure


def latency_names(result, kind):
    """Ours first, then by time at the middle size."""
    sizes, key = result["sizes"], clock(result)
    middle = sizes[len(sizes) // 2]
    names = [n for n, p in result["peers"].items() if p["kind"] == kind and any(n in s["rounds"] for s in sizes)]
    time = lambda n: median(middle["rounds"][n][key]) if n in middle["rounds"] else float("inf")
    return sorted(names, key=lambda n: (not result["peers"][n]["ours"], time(n)))


def label(result, name, title):
    peer = result["peers"][name]
    text = peer["label"]
    return text if any(word in text for word in ("int8", "q8")) else f"{text} {title}"


def latency_panel(axes, result, size, kind, names, colors):
    key, ours = clock(result), our_peer(result["peers"], kind)
    medians = [median(size["rounds"][n][key]) if n in size["rounds"] else 0 for n in names]
    longest = max(medians)
    for y, (name, value) in enumerate(zip(names, medians)):
        mine = result["peers"][name]["ours"]
        if value == 0:
            axes.text(0, y, " –", va="center", color=colors["soft"], fontsize=8.5)
            continue
        axes.barh(y, value, height=0.72, color=colors["ours" if mine else "peer"])
        ratio = size_ratio(size, name, ours, key)
        text = milliseconds(value) + ("" if ratio is None or name == ours else f" ({ratio[0]:.1f}×)")
        axes.text(value + longest * 0.03, y, text, va="center", fontsize=8.5, color=colors["ours" if mine else "ink"], fontweight="bold" if mine else "normal")
    axes.set_xlim(0, longest * 1.62)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_xticks([])
    bare(axes, "left")


# ---- scaling: time and memory over tokens, batch, texts -----------------------------------------


def scale(result, out):
    save("scale", lambda colors: scale_figure(result, colors), out)


def scale_figure(result, colors):
    titles = {"tokens": "tokens of one text", "batch": "texts of 32 tokens", "texts": "uneven sentences"}
    figure, grid = pyplot.subplots(2, 3, figsize=(12, 6.4), sharey="row", gridspec_kw={"wspace": 0.08, "hspace": 0.14})
    for column, (name, points) in enumerate(result["series"].items()):
        top, bottom = grid[0][column], grid[1][column]
        scale_panel(top, result, points, lambda p: p[clock(result)], colors)
        scale_panel(bottom, result, points, lambda p: p["peak_bytes"] / 1e6, colors)
        bottom.set_xlabel(titles[name])
        top.tick_params(labelbottom=False)
        for axes in (top, bottom):
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_locator(FixedLocator([p["n"] for p in points if is_power_of_two(p["n"])]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
        top.set_yscale("log")
        top.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        top.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        top.yaxis.set_minor_locator(NullLocator())
        bottom.set_ylim(bottom=0)
    threads = "one thread" if result["threads"] == 1 else f"{result['threads']} threads"
    caption(figure, grid, f"all-MiniLM-L6-v2, {threads}; a fresh process for every point; uneven texts padded by the peers that need it.", colors)
    grid[0][0].set_ylabel("CPU ms" if clock(result) == "cpu_ms" else "ms")
    grid[1][0].set_ylabel("peak memory of the process, MB")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.97), ncols=min(8, len(labels)), frameon=False, fontsize=9, handlelength=2.6)
    return figure


def is_power_of_two(n):
    return n & (n - 1) == 0


def scale_panel(axes, result, points, value, colors):
    for name, peer in result["peers"].items():
        project = peer["label"].split()[0]
        color, marker = LINES.get(project, ("peer", "x"))
        color = colors.get(color, color)
        known = [(p["n"], value(p["peers"][name])) for p in points if name in p["peers"]]
        if known:
            dashed = peer["kind"] != "f32"
            axes.plot(
                *zip(*known), color=color, marker=marker, markersize=4.5, linewidth=2.4 if peer["ours"] else 1.4, linestyle=(0, (4, 1.6)) if dashed else "-",
                zorder=3 if peer["ours"] else 2, label=peer["label"] if dashed else f"{peer['label']} f32",
            )
    axes.grid(True, color=colors["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    bare(axes)
    axes.tick_params(axis="y", labelcolor=colors["soft"])


# ---- micro: a kernel's rate against the machine's measured peak ----------------------------------


def micro(entries, out):
    """`entries`: dictionaries `{kernel, table, shape, unit, value, peak}`; see README.md."""
    save("micro", lambda colors: micro_figure(entries, colors), out)


def micro_figure(entries, colors):
    tables = list(dict.fromkeys(e["table"] for e in entries))
    rows = [[e for e in entries if e["table"] == t] for t in tables]
    figure, grid = pyplot.subplots(len(tables), 1, squeeze=False, figsize=(9, 0.28 * len(entries) + 0.55 * len(tables) + 0.5), gridspec_kw={"height_ratios": [len(r) + 1 for r in rows], "hspace": 0.25})
    for (axes,), table, mine in zip(grid, tables, rows):
        for y, entry in enumerate(mine):
            peak = entry.get("peak")
            share = entry["value"] / peak if peak else 0
            axes.barh(y, 1 if peak else 0, height=0.74, color=colors["rule"])
            axes.barh(y, share, height=0.74, color=colors["ours"])
            of_peak = f" of {peak:.0f}  ({share:.0%})" if peak else ""
            axes.text(max(1.0, share) + 0.015, y, f"{entry['value']:.1f}{of_peak} {entry['unit']}", va="center", fontsize=8.5)
        axes.set_yticks(range(len(mine)), [f"{e['kernel']}  {e['shape']}" for e in mine], fontsize=8.5)
        axes.set_ylim(len(mine) - 0.4, -0.6)
        axes.set_xlim(0, 1.45)
        axes.set_xticks([])
        axes.set_title(table, loc="left", fontsize=10, fontweight="bold")
        bare(axes)
    return figure
