#!/usr/bin/env python3
"""Plants mistakes in a copy of the pages and headers; the checks must find each one. usage: checks_test.py SOURCE_DIR"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])


def edit(path, old, new):
    text = path.read_text()
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new, 1))


def run(script, copy):
    return subprocess.run([sys.executable, copy / script, "--check"], capture_output=True, text=True)


MISTAKES = {
    "a quote that differs": ("docs/pages.py", "docs/guides/fan-out.md", "co_await ctx.join", "co_await ctx.joyn"),
    "code from nowhere": ("docs/pages.py", "docs/start.md", "# ", "```cpp\nint i = 0;\n```\n\n# "),
    "a link to no file": ("docs/pages.py", "docs/README.md", "(start.md)", "(begin.md)"),
    "a link to no heading": ("docs/pages.py", "docs/README.md", "(start.md)", "(start.md#no-such-heading)"),
    "a part that is gone": ("docs/pages.py", "examples/saga/saga.cpp", "// [/saga]", "// end"),
    "a function without a comment": ("docs/reference/generate.py", "include/duramen/version.hpp",
                                     "namespace duramen::inline v0 {", "namespace duramen::inline v0 {\nint bare();\n"),
    "a type without a comment": ("docs/reference/generate.py", "include/duramen/version.hpp",
                                 "namespace duramen::inline v0 {",
                                 "namespace duramen::inline v0 {\nclass Bare {\n public:\n  /// Runs.\n  void run();\n};\n"),
    "a header without a comment at its top": ("docs/reference/generate.py", "include/duramen/version.hpp",
                                              "// ", "#define X "),
}

failed = False
with tempfile.TemporaryDirectory() as directory:
    copy = pathlib.Path(directory)
    for folder in ("docs", "examples", "include", "tests", "bench", "src", "cli", "fuzz"):
        if (SOURCE / folder).exists():
            shutil.copytree(SOURCE / folder, copy / folder, ignore=shutil.ignore_patterns("corpus", "api"))
    for page in SOURCE.glob("*"):
        if page.is_file():
            shutil.copy(page, copy)

    for script in ("docs/pages.py", "docs/reference/generate.py"):
        result = run(script, copy)
        if result.returncode != 0:
            print(f"the checks fail before a mistake is planted:\n{result.stderr}")
            failed = True
    for name, (script, file, old, new) in MISTAKES.items():
        before = (copy / file).read_text()
        edit(copy / file, old, new)
        if run(script, copy).returncode == 0:
            print(f"not found: {name}")
            failed = True
        (copy / file).write_text(before)
sys.exit(1 if failed else 0)
