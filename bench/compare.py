#!/usr/bin/env python3
"""Runs two builds of the benchmarks in turn and says what changed between them.

usage: bench/compare.py BEFORE AFTER [--pairs 10] [--json FILE] [-- arguments of duramen_bench]

BEFORE and AFTER are duramen_bench programs. In each pair both run the same workloads, one after the other; every other
pair begins with AFTER, so that a machine that slows down hits both alike. Of every line the ratio AFTER / BEFORE is taken
pair by pair: the throughput (higher is better) where there is one, and the latency (p50, lower is better) where the workload is a
latency. The table shows the median ratio and its 95 % interval (the sign test's: no shape of the noise is assumed).
A loss is a line whose whole interval lies on the bad side of 1; the exit status is 1 if there is one.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys


def run(program, arguments):
    result = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{program} failed:\n{result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def figure(row):
    """What is compared of a line: (name, value, higher is better)."""
    if row["workload"].startswith(("cancel", "latency", "fairness")):
        return "p50_ms", row["p50_ms"], False
    return "per_second", row["per_second"], True


def interval(values):
    """The values between which the median lies with at least 95 %, by the sign test."""
    values = sorted(values)
    n = len(values)
    k = 0
    while k < n // 2 and 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n <= 0.05:
        k += 1
    k = max(k - 1, 0)
    return values[k], values[n - 1 - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--json", help="write every line of every run there")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.bench = words[at + 1:]
    if options.pairs < 6:
        parser.error("fewer than 6 pairs have no 95 % interval")

    ratios, first, lines = {}, {}, []
    for pair in range(options.pairs):
        rows = {}
        order = ["before", "after"] if pair % 2 == 0 else ["after", "before"]
        for side in order:
            rows[side] = run(getattr(options, side), options.bench)
            lines += [{"side": side, "pair": pair, **row} for row in rows[side]]
        for before, after in zip(rows["before"], rows["after"], strict=True):
            key = f"{before['workload']} {before['width']}"
            name, old, higher = figure(before)
            ratios.setdefault(key, []).append(figure(after)[1] / old)
            first.setdefault(key, (name, higher, []))[2].append((old, figure(after)[1]))
        print(f"pair {pair + 1} of {options.pairs}", file=sys.stderr)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")

    lost = False
    print("| workload, width | figure | before | after | after / before | 95 % | |\n|---|---|---|---|---|---|---|")
    for key, values in ratios.items():
        name, higher, pairs = first[key]
        low, high = interval(values)
        loss, gain = (high < 1, low > 1) if higher else (low > 1, high < 1)
        lost |= loss
        print(f"| {key} | {name} | {statistics.median(p[0] for p in pairs):.4g} | {statistics.median(p[1] for p in pairs):.4g} "
              f"| {statistics.median(values):.3f} | {low:.3f} to {high:.3f} | {'loss' if loss else 'gain' if gain else ''} |")
    sys.exit(1 if lost else 0)


main()
