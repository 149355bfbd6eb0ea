#!/usr/bin/env python3
"""Checks the pages: quoted code equals the code that is compiled, every link has a target, no page is left out.

usage: pages.py [--check]

A page quotes a marked part of a file like this; without --check the block is filled in from the file:

    <!-- from examples/saga/saga.cpp: saga -->
    ```cpp
    ...
    ```

In the file the part stands between the lines `// [saga]` and `// [/saga]`. A whole file is quoted without a mark, with its
first comment left out: `<!-- from examples/saga/output.txt -->`.

  --check   write nothing; fail if a quote differs from its file, a block of C++ has no file, a link is broken,
            a page cannot be reached from docs/README.md, or no page quotes an example
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
QUOTE = re.compile(r"<!-- from (\S+?)(?:: (\w+))? -->\n```(\w*)\n(.*?)```", re.S)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
# Kept in step by tests of their own, or not meant to be compiled (decisions are history).
OTHERS = ("docs/guides/testing-a-provider.md", "docs/guides/provider-authors.md", "docs/reference/", "docs/decisions/",
          "docs/guides/postgres.md", "docs/performance.md")
# Made by generate.py, not kept.
GENERATED = ROOT / "docs" / "reference" / "api"

problems = []


def quoted(file, part, where):
    path = ROOT / file
    if not path.exists():
        problems.append(f"{where}: {file} does not exist")
        return None
    text = path.read_text()
    if part is None:
        return text.strip("\n") + "\n"
    match = re.search(rf"^[ \t]*// \[{part}\]\n(.*?)^[ \t]*// \[/{part}\]$", text, re.S | re.M)
    if not match:
        problems.append(f"{where}: {file} has no part [{part}]")
        return None
    return textwrap.dedent(match[1]).strip("\n") + "\n"


def check_quotes(page, name, text, check):
    def replace(match):
        code = quoted(match[1], match[2], name)
        if code is None:
            return match[0]
        if check and code != match[4]:
            problems.append(f"{name}: the quote of {match[1]} [{match[2]}] differs from the file; run ./dev docs")
        part = f": {match[2]}" if match[2] else ""
        return f"<!-- from {match[1]}{part} -->\n```{match[3]}\n{code}```"

    new = QUOTE.sub(replace, text)
    if not check and new != text:
        page.write_text(new)
    if not name.startswith(OTHERS):
        for match in re.finditer(r"^```cpp\n(.*)$", text, re.M):
            before = text[:match.start()].rstrip("\n").rsplit("\n", 1)[-1]
            if not before.startswith("<!-- from "):
                problems.append(f"{name}: this C++ is not quoted from a compiled file: {match[1]}")
    return new


def anchors(path):
    """The anchors that GitHub makes of headings."""
    found = set()
    in_code = False
    for line in path.read_text().split("\n"):
        if line.startswith("```"):
            in_code = not in_code
        if in_code or not line.startswith("#"):
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip()).lower()
        found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def links(name, text):
    """Files that a page links to, checked."""
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    prose = re.sub(r"^    .*$", "", prose, flags=re.M)
    prose = re.sub(r"`[^`\n]*`", lambda m: "x" if "](" in m[0] else m[0], prose)
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        path = path.resolve()
        if not path.exists():
            problems.append(f"{name}: {target} does not exist")
            continue
        if anchor and path.suffix == ".md" and anchor not in anchors(path):
            problems.append(f"{name}: {target} has no heading of that name")
        if path.is_dir() and (path / "README.md").exists():
            path = path / "README.md"
        yield path


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    pages = sorted(page for page in (ROOT / "docs").rglob("*.md") if GENERATED not in page.parents) + [
        ROOT / n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    graph, shown = {}, set()
    for page in pages:
        name = str(page.relative_to(ROOT))
        text = page.read_text()
        if name.startswith("docs/"):
            text = check_quotes(page, name, text, check)
            shown |= {match[1] for match in QUOTE.finditer(text)}
        graph[page] = set(links(name, text))

    reached, todo = set(), [ROOT / "docs" / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached or page not in graph:
            continue
        reached.add(page)
        todo += graph[page]
    for page in pages:
        if page not in reached and page.is_relative_to(ROOT / "docs"):
            problems.append(f"{page.relative_to(ROOT)} cannot be reached from docs/README.md")
    for example in sorted((ROOT / "examples").iterdir()):
        if example.is_dir() and not any(file.startswith(f"examples/{example.name}/") for file in shown):
            problems.append(f"examples/{example.name} is quoted by no page")

    for problem in dict.fromkeys(problems):
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
