#!/usr/bin/env python3
"""Draws the plots of docs/performance.md from the JSON lines of `./dev bench ... --json`.

usage: bench/plots.py RESULTS.jsonl OUTPUT_DIRECTORY

Nothing but Python's own library: the pictures are plain SVG, and the same lines give the same bytes.
"""
import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 78, 16, 34, 46
COLOURS = ["#1f5fa8", "#c2541b", "#3a7d44", "#7a4a9e"]


def short(value):
    """12000 as 12k, 0.5 as 0.5."""
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:g}"


def ticks(low, high, logarithmic):
    if logarithmic:
        return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    step = 10 ** math.floor(math.log10(high)) if high > 0 else 1
    while high / step < 4:
        step /= 2
    return [step * i for i in range(int(high / step) + 2)]


def chart(title, x_label, y_label, series, log_x=True):
    """`series`: name -> [(x, y), ...]. The y axis begins at zero, so that nothing looks steeper than it is."""
    points = [point for line in series.values() for point in line]
    xs = ticks(min(x for x, _ in points), max(x for x, _ in points), log_x)
    ys = ticks(0, max(y for _, y in points), False)

    def at_x(x):
        low, high = (math.log10(xs[0]), math.log10(xs[-1])) if log_x else (xs[0], xs[-1])
        value = math.log10(x) if log_x else x
        return LEFT + (value - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT)

    def at_y(y):
        return HEIGHT - BOTTOM - y / ys[-1] * (HEIGHT - TOP - BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-weight="bold">{title}</text>',
    ]
    for y in ys:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at_y(y):.1f}" y2="{at_y(y):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at_y(y) + 4:.1f}" text-anchor="end">{short(y)}</text>')
    for x in xs:
        out.append(f'<text x="{at_x(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(x)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{x_label}</text>')
    out.append(f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" text-anchor="middle">{y_label}</text>')
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in sorted(line))
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in line]
        place = WIDTH - RIGHT - 90 * (len(series) - 1 - number)  # above the lines, which may be anywhere below
        out.append(f'<text x="{place}" y="20" text-anchor="end" fill="{colour}">{name}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    lines = [json.loads(line) for line in pathlib.Path(arguments[0]).read_text().splitlines() if line.startswith("{")]
    target = pathlib.Path(arguments[1])
    target.mkdir(parents=True, exist_ok=True)
    plots = {}

    hello = [r for r in lines if r["workload"] == "hello"]
    if len({r["width"] for r in hello}) > 2:
        widths = {"hello": [(r["width"], r["per_second"]) for r in hello]}
        raw = [(r["width"], r["raw_per_second"]) for r in hello if r["raw_per_second"]]
        if raw:
            widths["raw store"] = raw
        plots["width.svg"] = chart("Throughput and width", "instances in flight", "hellos per second", widths)

    steps = [(r["size"], r["ns_each"] / 1e6) for r in lines if r["workload"] == "long" and r["figure"] == "step"]
    if steps:
        plots["history.svg"] = chart("A step and the length of its history", "steps so far", "milliseconds per step",
                                     {"one step": steps}, log_x=False)

    growth = {}
    for r in lines:
        if r["workload"] == "growth":
            growth.setdefault(r["figure"], []).append((r["size"], r["ns_each"] / 1e3))
    if growth:
        plots["instances.svg"] = chart("Store calls and finished instances", "finished instances in the store",
                                       "microseconds, not synced", growth)

    payload = [(int(r["workload"].split("-")[1]), r["per_second"]) for r in lines if r["workload"].startswith("hello-")]
    if payload:
        plots["payload.svg"] = chart("Throughput and payload", "bytes in every payload", "hellos per second, width 20",
                                     {"hello": payload})

    for name, text in plots.items():
        (target / name).write_text(text)
        print(target / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
