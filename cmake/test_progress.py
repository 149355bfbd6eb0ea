#!/usr/bin/env python3
"""Runs ctest. Shows how far it is, the output of tests that fail, and ctest's summary; hides the tests that pass.

usage: test_progress.py JOBS BUILD_DIRECTORY CTEST_ARGUMENT...

The time left is estimated from the seconds each test took in earlier runs (ctest keeps them), else from its COST, else from
`usual_seconds`; and from how fast the tests of this run are, compared with that.
"""
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

usual_seconds = 0.2
interval = 10
result = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) .*?\s[\d.]+ sec\s*$")
hidden = re.compile(r"^\s*Start\s+\d+: |^\s*\d+/\d+ Test\s+#\d+: .*(?:   Passed|\*\*\*Skipped)\s+[\d.]+ sec\s*$")


def expected_seconds(build, arguments):
    """The tests that ctest will run, with the seconds each is expected to take."""
    listing = subprocess.run(["ctest", *arguments, "--show-only=json-v1"], capture_output=True, text=True).stdout
    try:
        tests = json.loads(listing)["tests"]
    except (ValueError, KeyError):
        return {}
    seconds = {}
    for test in tests:
        costs = [p["value"] for p in test.get("properties", []) if p["name"] == "COST"]
        seconds[test["name"]] = float(costs[0]) if costs else usual_seconds
    try:
        for line in (build / "Testing/Temporary/CTestCostData.txt").read_text().splitlines():
            fields = line.split()
            if len(fields) == 3 and fields[0] in seconds and int(fields[1]) > 0:
                seconds[fields[0]] = float(fields[2])
    except (OSError, ValueError):
        pass
    return seconds


def duration(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 1):.0f} s"


class Progress:
    def __init__(self, jobs, seconds):
        self.jobs, self.seconds = jobs, seconds
        self.total = sum(seconds.values())
        self.tests, self.done, self.failed, self.done_seconds = len(seconds), 0, 0, 0.0
        self.start = time.monotonic()

    def ended(self, name, passed):
        self.done += 1
        self.failed += not passed
        self.done_seconds += self.seconds.get(name, usual_seconds)

    def left(self):
        elapsed = time.monotonic() - self.start
        speed = self.jobs
        if elapsed > 2 * interval and self.done_seconds > self.total / 20:
            speed = self.done_seconds / elapsed
        return max(self.total - self.done_seconds, 0) / speed

    def show(self):
        failed = f", {self.failed} failed" if self.failed else ""
        print(f"dev: tested {self.done} of {self.tests}{failed}, about {duration(self.left())} left",
              file=sys.stderr, flush=True)


def main():
    jobs, build, arguments = int(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    progress = Progress(jobs, expected_seconds(build, arguments))
    ctest = subprocess.Popen(["ctest", *arguments], stdout=subprocess.PIPE, text=True, errors="replace", bufsize=1)
    over = threading.Event()

    def watch():
        while not over.wait(interval):
            if progress.tests:
                progress.show()

    threading.Thread(target=watch, daemon=True).start()
    try:
        for line in ctest.stdout:
            is_hidden = hidden.match(line)
            ended = result.match(line)
            if ended:
                progress.ended(ended.group(1), bool(is_hidden))
            if not is_hidden:
                sys.stdout.write(line)
                sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    finally:
        over.set()
    return ctest.wait()


if __name__ == "__main__":
    sys.exit(main())
