"""Draws what the example `amb_frontier` measured: mean distance from the reference against the file's size.

    cargo run --release -p nanoembed-tests --example amb_frontier -- *.amb > frontier.jsonl
    python tests/tools/amb_frontier.py frontier.jsonl docs/images/amb-frontier.svg
"""

import json
import math
import sys

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720, 400, 80, 50, 20, 130
points = [json.loads(line) for line in open(sys.argv[1])]
sizes = [point["file_bytes"] / 1e6 for point in points]
far = [1 - point["mean_cosine"] for point in points]
low, high = math.floor(min(sizes)) - 1, math.ceil(max(sizes)) + 1
down, up = math.floor(math.log10(min(far))), math.ceil(math.log10(max(far)))


def x(size):
    return LEFT + (size - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def y(distance):
    return TOP + (up - math.log10(distance)) / (up - down) * (HEIGHT - TOP - BOTTOM)


svg = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
]
for power in range(down, up + 1):
    for step in range(1, 10):
        value = step * 10.0**power
        if not 10.0**down <= value <= 10.0**up:
            continue
        strong = step == 1
        svg.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="{"#bbb" if strong else "#eee"}"/>')
        if strong or step in (2, 5):
            svg.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
for size in range(low, high + 1, 2):
    svg.append(f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{size}</text>')
svg.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">size of the file in MB</text>')
middle = (TOP + HEIGHT - BOTTOM) / 2
svg.append(f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">1 − mean cosine to f64</text>')
max_adaptive = max((1 - p["mean_cosine"] for p in points if "adaptive" in p["file"]), default=0)
for point, size, distance in zip(points, sizes, far):
    name = point["file"].removesuffix(".amb")
    colour = "#c2410c" if "adaptive" in name else "#1d4ed8" if "int8" in name else "#15803d"
    # Files of adaptive precision lie close to each other: the number is enough.
    name = name.replace("adaptive-", "" if distance < max_adaptive else "adaptive, bits: ")
    svg.append(f'<circle cx="{x(size):.1f}" cy="{y(distance):.1f}" r="5" fill="{colour}"/>')
    svg.append(f'<text x="{x(size) + 9:.1f}" y="{y(distance) + 4:.1f}" fill="{colour}">{name}</text>')
svg.append("</svg>")
open(sys.argv[2], "w").write("\n".join(svg) + "\n")
