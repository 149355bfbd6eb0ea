#!/usr/bin/env python3
"""Counts the phrases that CONTRIBUTING.md asks to avoid, as lines, by part of the repository.

usage: count_patterns.py [--list] [COMMIT...]     without a commit: the files as they are

It reads comments and texts of C++, comments of SQL and CMake, test names, and the prose of pages: without quoted code,
`code`, headings, recorded measurements (bench/results) and the samples in CONTRIBUTING.md.

  --list   print each line that was counted
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

PATTERNS = {
    "clause as subject": r"(?:^|[.:;!?|] +|\*\* )(?:What|Whether|Who|Whoever|Whatever|Whichever|Those|Where|Of|For (?:who|those|what|whom))\b(?![^.|;]*\?)",
    "who, whoever": r"\b(?:who|whoever|whom)\b",
    "nobody, somebody": r"\b(?:no|some|every|any)body(?:'s)?\b",
    "tell, hear, say": r"\b(?:tell|tells|told|telling|hear|hears|heard|say|says|said|saying)\b",
    "look at, for, after": r"\blook(?:s|ed|ing)? (?:at|for|after)\b",
    "for ever, in vain, ...": r"\b(?:for ever|in vain|to be had|at hand|beside|besides|rather)\b",
    "so many, also if, ...": r"\bso (?:many|long)\b(?! as\b)|, too\b|\balso if\b|\b(?:come|comes|came|coming) to an end\b|\b(?:become|becomes|became) of\b|\blet(?:s|ting)? go\b|\bg[ai]ve[sn]? (?:\w+ )?back\b",
}
# Names of tests and functions: one word of the sentence.
IN_NAMES = re.compile(r"^TEST(?:_[FP])?\(\w+, (\w+)\)", re.M)

PARTS = {
    "include/": lambda p: p.startswith("include/"),
    "src/, cli/": lambda p: p.startswith(("src/", "cli/")),
    "pages": lambda p: p.endswith(".md"),
    "tests/, bench/, ...": lambda p: p.startswith(("tests/", "bench/", "examples/", "fuzz/", "packaging/")),
}


def prose(path, text):
    """The lines of a file that a person reads as English."""
    if path.endswith(".md"):
        text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        text = re.sub(r"`[^`\n]*`", "x", text)
        if path == "CONTRIBUTING.md":
            text = re.sub(r"^\| instead of \|.*?\n\n", "", text, flags=re.S | re.M)
            text = re.sub(r"^- Name the actor:.*$|^- Machines return.*$|^  .*do not tell.*$", "", text, flags=re.M)
        text = re.sub(r"^\|.*\n(?=\|---)", "", text, flags=re.M)    # heads of tables
        return [line.strip("|# *->") for line in text.split("\n") if not line.startswith(("    ", "#"))]
    lines = []
    mark = "--" if path.endswith(".sql") else "#" if path.endswith((".py", ".cmake", ".txt")) else "//"
    for line in text.split("\n"):
        comment = re.search(re.escape(mark) + r"+<? ?(.*)$", re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))
        if comment:
            lines.append(comment[1])
        if mark == "//":
            lines += [m[1] for m in re.finditer(r'"((?:[^"\\]|\\.)*)"', line.split("//")[0]) if " " in m[1]]
    for name in IN_NAMES.findall(text):
        lines.append(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower())
    return lines


def files(commit):
    command = ["git", "ls-tree", "-r", "--name-only", commit] if commit else ["git", "ls-files"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\n")
    kinds = (".md", ".hpp", ".cpp", ".sql", ".cmake", "CMakeLists.txt")
    leave_out = ("bench/results/", "docs/reference/api/", "docs/internals/english.md", "fuzz/corpus/")
    for name in names:
        if name.endswith(kinds) and not name.startswith(leave_out):
            if commit:
                yield name, subprocess.check_output(["git", "show", f"{commit}:{name}"], cwd=ROOT, text=True)
            elif (ROOT / name).exists():
                yield name, (ROOT / name).read_text()


def count(commit, show):
    found = {pattern: dict.fromkeys(PARTS, 0) for pattern in PATTERNS}
    for path, text in files(commit):
        part = "pages" if path.endswith(".md") else next((p for p, is_in in PARTS.items() if is_in(path)), None)
        if part is None:
            continue
        for line in prose(path, text):
            for pattern, expression in PATTERNS.items():
                flags = 0 if pattern.startswith("clause") else re.I
                if re.search(expression, line, flags):
                    found[pattern][part] += 1
                    if show:
                        print(f"{path}: {pattern}: {line.strip()}")
    return found


def main():
    arguments = sys.argv[1:]
    show = "--list" in arguments
    commits = [a for a in arguments if a != "--list"] or [None]
    if any(c and c.startswith("-") for c in commits):
        sys.exit(__doc__)
    counts = [count(commit, show) for commit in commits]
    print("| Lines with | " + " | ".join(PARTS) + " |\n|---|" + "---|" * len(PARTS))
    for pattern in PATTERNS:
        cells = [" -> ".join(str(c[pattern][part]) for c in counts) for part in PARTS]
        print(f"| {pattern} | " + " | ".join(cells) + " |")
    cells = [" -> ".join(str(sum(c[p][part] for p in PATTERNS)) for c in counts) for part in PARTS]
    print("| **all** | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
