#!/usr/bin/env python3
"""Writes docs/reference/api: one page for each public header, from its comments.

usage: generate.py [--check]

  --check   write nothing; fail if something public has no comment. Needs no pages.

The pages are not kept in the repository: `./dev docs` makes them.

The headers are formatted by rule, so this reads them without a compiler: it follows braces and semicolons, keeps the
`///` comments, and leaves out what is private, deleted, in a namespace `detail`, or behind a line `// Internal: ...`.
A comment belongs to all functions after it, up to an empty line or the next
comment. Functions and classes must have one; constructors, operators and plain data need not.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "duramen"
PAGES = ROOT / "docs" / "reference" / "api"
INTERNAL_MARK = re.compile(r"^// Internal:")


class Entry:
    """A type, function or value that users see."""

    def __init__(self, kind, name, text, doc, line):
        self.kind, self.name, self.doc, self.line = kind, name, doc, line
        self.texts = [text]     # more than one for overloads
        self.members = []
        self.verbatim = None    # of data types: the whole definition


class Scope:
    def __init__(self, kind, entry=None, name="", public=True):
        self.kind, self.entry, self.name, self.public = kind, entry, name, public
        self.hidden = False     # behind an internal mark


def one_line(text):
    """A declaration on one line."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\[\[nodiscard(\(\"[^\"]*\"\))?\]\] ?", "", text)
    text = re.sub(r"\b(DURAMEN_API|inline|explicit) (?!constexpr std::)", lambda m: "" if m[1] != "explicit" else m[0], text)
    text = text.replace("inline constexpr", "constexpr")
    text = re.sub(r",? ?std::source_location where = std::source_location::current\(\)", "", text)
    return text.replace("( ", "(").replace(" )", ")")


def declared_name(text):
    """The name a declaration declares, and whether it is a function."""
    pointer = re.search(r"\(\*(\w+)\)\(", text)
    if pointer:
        return pointer[1], False
    flat = re.sub(r"\boperator ?(\(\)|[^\s(]+|[a-z]+)\s*\(", lambda m: "operator" + m[1] + "(", text)
    flat = strip_template_head(flat)
    flat = re.sub(r"\brequires ?\([^{;]*?\)+ (?=[A-Za-z\[])", "", flat)
    depth = 0
    for i, c in enumerate(flat):
        if c == "<" and not flat[:i].endswith("operator"):
            depth += 1
        elif c == ">" and depth and flat[i - 1] != "-":
            depth -= 1
        elif c == "(" and depth == 0:
            before = flat[:i].rstrip()
            m = re.search(r"(~?\w+|operator\S+|operator \w[\w: ]*)$", before)
            if m and m[1] not in ("requires", "decltype", "noexcept", "alignas"):
                return m[1], True
        elif c in "={" and depth == 0 and not re.search(r"\boperator[^\w\s(]*$", flat[:i]):
            break
    m = re.match(r"using (\w+) =", flat)
    if m:
        return m[1], False
    m = re.search(r"(\w+)(\[[^\]]*\])?\s*(=.*|\{.*)?$", flat)
    return (m[1] if m else ""), False


def strip_template_head(text):
    while text.startswith("template"):
        depth = 0
        for i, c in enumerate(text):
            if c == "<":
                depth += 1
            elif c == ">":
                depth -= 1
                if depth == 0:
                    break
        text = text[i + 1:].lstrip()
        m = re.match(r"requires\s*", text)
        if m:
            text = skip_constraint(text[m.end():])
    return text


def skip_constraint(text):
    """What follows a requires clause: parenthesised, or a concept with its arguments."""
    depth = 0
    for i, c in enumerate(text):
        if c in "(<":
            depth += 1
        elif c in ")>" and text[i - 1:i + 1] != "->":
            depth -= 1
            if depth == 0 and not re.match(r"\s*(&&|\|\||::)", text[i + 1:]):
                return text[i + 1:].lstrip()
    return text


def parse(path):
    """The opening comment of a header, and its entries."""
    source = path.read_text()
    lines = source.split("\n")
    intro = []
    for line in lines:
        if not line.startswith("//"):
            break
        intro.append(line[3:])

    entries, doc, buffer, scopes = [], [], "", [Scope("file")]
    buffer_line = 0
    skip_depth = 0      # inside a body that is not looked at
    last_end = -9       # the line on which the last declaration ended

    def container():
        for scope in reversed(scopes):
            if scope.kind == "type":
                return scope.entry.members
            if scope.kind in ("detail", "skipped"):
                return None
        return entries

    def visible():
        return all(s.public and not s.hidden and s.kind not in ("detail", "skipped") for s in scopes)

    def add(text, doc, line):
        if not visible() or not text:
            return None
        text = one_line(text)
        plain = strip_template_head(text)
        if re.match(r"(friend|static_assert|namespace|extern)\b", plain) or re.match(r"using [\w:]*::\w+$", plain):
            return None
        if re.match(r"(class|struct|enum class) \w+$", plain):
            return None     # declared here, described elsewhere
        before = plain.split("(")[0]
        if "(" in plain and "=" not in before and re.search(r"\w::~?\w+$", before) or re.search(r"\) -> \w+<", plain):
            return None     # defined here, declared elsewhere; or a deduction guide
        if text.endswith("= delete") or re.search(r"\boverride\b", text):
            return None
        name, is_function = declared_name(text)
        into = container()
        if into is None:
            return None
        owner = next((s.entry for s in reversed(scopes) if s.kind == "type"), None)
        special = owner is not None and (name in (owner.name, "~" + owner.name) or name == "operator=")
        if special and (name.startswith("~") or name == "operator=" or "= default" in text
                        or re.search(r"\((const )?" + owner.name + r"&&?( other)?\)", text)) and not doc:
            return None
        previous = into[-1] if into else None
        if is_function and not doc and previous is not None and previous.kind == "function" and (
                previous.doc and line - last_end <= 1 or previous.name == name):
            previous.texts.append(text)
            return previous
        entry = Entry("function" if is_function else "value", name, text, doc, line)
        into.append(entry)
        return entry

    i, n = 0, len(source)
    line_no = 1
    while i < n:
        c = source[i]
        if c == "\n":
            line_no += 1
        if source.startswith("//", i):
            end = source.find("\n", i)
            end = n if end == -1 else end
            comment = source[i:end]
            if skip_depth == 0:
                if comment.startswith("///<"):
                    target = container()
                    if target and not buffer.strip():
                        target[-1].doc = target[-1].doc or [comment[4:].strip()]
                elif comment.startswith("///"):
                    if not buffer.strip():
                        doc.append(comment[3:].strip())
                elif INTERNAL_MARK.match(comment):
                    scopes[-1].hidden = True
            i = end
            continue
        if source.startswith("#", i) and source[:i].rsplit("\n", 1)[-1].strip() == "" and skip_depth == 0:
            end = i
            while True:
                end = source.find("\n", end)
                if end == -1 or source[end - 1] != "\\":
                    break
                end += 1
            directive = source[i:end]
            m = re.match(r"#define (DURAMEN_\w+\([^)]*\))", directive)
            if m and doc:
                entries.append(Entry("macro", m[1].split("(")[0], m[1], doc, line_no))
            doc = []
            line_no += directive.count("\n")
            i = end
            continue
        if c in "\"'" and not (c == "'" and source[i - 1].isdigit()):
            j = i + 1
            while source[j] != c:
                j += 2 if source[j] == "\\" else 1
            if skip_depth == 0:
                buffer += source[i:j + 1]
            i = j + 1
            continue
        if skip_depth:
            if c == "{":
                skip_depth += 1
            elif c == "}":
                skip_depth -= 1
                last_end = line_no
            i += 1
            continue
        if not buffer.strip() and not c.isspace():
            buffer_line = line_no
        if c == "{" and buffer.count("(") > buffer.count(")"):      # a default argument
            end = matching(source, i)
            buffer += source[i:end + 1]
            i = end + 1
            continue
        if c == "{":
            text = re.sub(r"\s+", " ", buffer).strip()
            plain = strip_template_head(text)
            if plain.startswith("namespace"):
                name = plain.split()[-1]
                scopes.append(Scope("detail" if name.split("::")[-1] in ("detail", "core") else "namespace", name=name))
                buffer, doc = "", []
            elif re.match(r"(class|struct|enum class)\b", plain) and "(" not in re.sub(r"\[\[.*?\]\]|DURAMEN_API", "", plain).split(" : ")[0]:
                head = one_line(text)
                m = re.search(r"(?:class|struct|enum class) (\w[\w:]*(?:<.*>)?)(?: final)?(?: :.*)?$", strip_template_head(head))
                name = m[1] if m else "?"
                if not visible() or name == "Awaiter":
                    scopes.append(Scope("skipped"))
                elif plain.startswith("enum") or is_data(source, i):
                    end = matching(source, i)
                    entry = Entry("data", name, head, doc, buffer_line)
                    start = source.index(buffer.strip()[:20], i - len(buffer))
                    indent = len(source[source.rfind("\n", 0, start) + 1:start])
                    entry.verbatim = "\n".join(l[indent:] if l[:indent].strip() == "" else l
                                               for l in (" " * indent + source[start:end + 1] + ";").split("\n"))
                    container().append(entry)
                    line_no += source[i:end].count("\n")
                    i = end
                    # `} name;` declares a member as well: not needed here
                    while source[i] != ";":
                        i += 1
                else:
                    entry = Entry("type", name, head, doc, buffer_line)
                    container().append(entry)
                    scopes.append(Scope("type", entry, name, public=True))
                    if plain.startswith("class"):
                        scopes.append(Scope("access", public=False))
                buffer, doc = "", []
            else:
                # a function's body, or an initialiser in braces
                name, is_function = declared_name(one_line(text))
                if is_function or text.endswith("operator T() const"):
                    add(re.sub(r"\)( noexcept)? : \w.*$", r")\1", text) if is_function else text, doc, buffer_line)
                    buffer, doc, skip_depth = "", [], 1
                else:
                    end = matching(source, i)
                    buffer += source[i:end + 1]
                    line_no += source[i:end].count("\n")
                    i = end
            i += 1
            continue
        if c == "}":
            if scopes[-1].kind == "access":
                scopes.pop()
            scopes.pop()
            buffer, doc = "", []
            i += 1
            # the semicolon after a type
            continue
        if c == ";":
            add(buffer, doc, buffer_line)
            if buffer.strip():
                last_end = line_no
            buffer, doc = "", []
            i += 1
            continue
        if c == ":" and re.match(r"\s*(public|private|protected)$", buffer):
            if scopes[-1].kind == "access":
                scopes.pop()
            scopes.append(Scope("access", public=buffer.strip() == "public"))
            buffer, doc = "", []
            i += 1
            continue
        buffer += c
        i += 1
    return intro, entries


def matching(source, i):
    depth = 0
    while True:
        if source.startswith("//", i):
            i = source.find("\n", i)
            continue
        if source[i] == '"':
            i += 1
            while source[i] != '"':
                i += 2 if source[i] == "\\" else 1
        elif source[i] == "{":
            depth += 1
        elif source[i] == "}":
            depth -= 1
            if depth == 0:
                return i
        i += 1


def is_data(source, i):
    """A type with no functions but comparisons is shown as it stands."""
    body = source[i + 1:matching(source, i)]
    body = re.sub(r"//[^\n]*", "", body)
    body = re.sub(r"friend [^;]*;", "", body)
    body = re.sub(r"\{[^{}]*\}", "", body)
    body = re.sub(r"<[^;]*?>(?= )", "", body)
    body = re.sub(r"=[^;]*;", ";", body)
    body = re.sub(r"\(\*\w+\)\([^;]*\);", "", body)
    return "(" not in body


def undocumented(entries, owner=""):
    for entry in entries:
        name = owner + entry.name
        if "<" in entry.name:
            continue    # a specialisation
        is_constructor = owner.endswith(entry.name + "::")
        if entry.kind in ("function", "type") and not entry.doc and not is_constructor and "operator" not in entry.name:
            yield entry.line, name
        yield from undocumented(entry.members, name + "::")


def overlooked(path, text):
    """Reads a header a second time, more crudely: names of functions that its page does not have."""
    source = path.read_text()
    source = re.sub(r"namespace [\w: ]*detail \{.*?\n\}  // namespace [\w: ]*detail", "", source, flags=re.S)
    source = re.sub(r"\n\s*// Internal:.*?(?=\n \w+:|\n\})", "", source, flags=re.S)
    source = re.sub(r"\n  class Awaiter.*?\n  \};", "", source, flags=re.S)
    source = re.sub(r"\n (private|protected):.*?(?=\n public:|\n\})", "", source, flags=re.S)
    source = re.sub(r"//[^\n]*", "", source)
    for match in re.finditer(r"^ {0,2}(?!return|using|if|for)[A-Za-z_\[][\w:<>,&*\[\]\s]*?[ &*](\w+)\(([^;{]*)", source, re.M):
        if "override" not in match[2] and match[1] not in ("requires", "operator", "bool", "defined", "T"):
            if match[1] not in text and not match[1].startswith("duramen_"):
                yield match[1]


def code(text):
    return ["```cpp", text, "```", ""]


def paragraphs(doc):
    """Comment lines as Markdown; indented ones are code."""
    out, in_code = [], False
    for line in doc:
        is_code = line.startswith("  ") or line.startswith("\t")
        if is_code and not in_code:
            out.append("")
        if in_code and not is_code and line:
            out.append("")
        in_code = is_code
        out.append("    " + line.strip() if is_code else escape(line))
    return out + [""]


def escape(line):
    parts = line.split("`")
    for k in range(0, len(parts), 2):
        parts[k] = parts[k].replace("<", "\\<").replace("*", "\\*").replace("_", "\\_")
    return "`".join(parts)


def wrap(text):
    """A declaration that is too long, broken after its template head and at its parameters."""
    head = text[:len(text) - len(strip_template_head(text))].strip()
    rest = strip_template_head(text)
    lines = [head] if head else []
    if len(rest) > 108 and "(" in rest:
        at = rest.index("(") + 1
        pad = " " * min(at, 24)
        current = rest[:at]
        depth = 0
        piece = ""
        for ch in rest[at:]:
            piece += ch
            depth += ch in "(<{"
            depth -= ch in ")>}"
            if ch == "," and depth == 0:
                if len(current) + len(piece) > 108:
                    lines.append(current.rstrip())
                    current = pad
                    piece = piece.lstrip()
                current += piece
                piece = ""
        if len(current) + len(piece) > 108:
            lines.append(current.rstrip())
            current, piece = pad, piece.lstrip()
        lines.append(current + piece)
    else:
        lines.append(rest)
    return "\n".join(lines) + ";"


def render(entries, level):
    out, values = [], []
    for entry in entries + [None]:
        if entry is not None and entry.kind == "value":     # several in one block
            values.append(entry)
            continue
        if values:
            lines = []
            for value in values:
                alone = len(value.doc) == 1 and len(value.texts[0]) + len(value.doc[0]) < 100
                lines += [] if alone else ["/// " + line for line in value.doc]
                lines.append(wrap(value.texts[0]) + ("  ///< " + value.doc[0] if alone else ""))
            out += code("\n".join(lines))
            values = []
        if entry is None:
            break
        if entry.kind == "macro":
            out += ["#" * level + " `" + entry.name + "`", ""] + code(entry.texts[0]) + paragraphs(entry.doc)
        elif entry.kind == "data":
            word = entry.texts[0].split()[0].replace("template", "struct")
            out += ["#" * level + " " + word + " `" + entry.name + "`", ""] + paragraphs(entry.doc)
            out += code(entry.verbatim)
        elif entry.kind == "type":
            out += ["#" * level + " class `" + entry.name + "`", ""] + paragraphs(entry.doc)
            out += code(wrap(entry.texts[0])) if entry.texts[0].startswith("template") or " : " in entry.texts[0] else []
            out += render(entry.members, level + 1)
        else:
            out += ["## `" + entry.name + "`", ""] if level == 2 else []
            out += code("\n".join(map(wrap, entry.texts))) + paragraphs(entry.doc)
    return out


def page(header, intro, entries):
    name = "duramen/" + header
    source = "../" * (3 + header.count("/") * 0) + "include/" + name
    out = ["# `<" + name + ">`", "", "<!-- made by ./dev docs from the header; do not edit -->", ""]
    out += paragraphs(intro)
    out += ["[The header itself](" + source + ")", ""] + render(entries, 2)
    text = "\n".join(out)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    problems, pages, index = [], {}, []
    for path in sorted(HEADERS.rglob("*.hpp")):
        header = str(path.relative_to(HEADERS))
        if header.startswith("detail/"):
            continue
        intro, entries = parse(path)
        if not intro:
            problems.append(f"include/duramen/{header}:1: the header has no comment at its top")
        for line, name in undocumented(entries):
            problems.append(f"include/duramen/{header}:{line}: {name} has no comment")
        file = header.replace("/", "_").replace(".hpp", ".md")
        pages[file] = page(header, intro, entries)
        for name in overlooked(path, pages[file]):
            problems.append(f"include/duramen/{header}: {name} is not in the reference; is it written in an unusual way?")
        index.append(f"| [{header}]({file}) | {escape(intro[0]) if intro else ''} |")
    pages["README.md"] = "\n".join(
        ["# Reference", "", "<!-- made by ./dev docs from the headers; do not edit -->", "",
         "Every public header, with everything in it that a program may use. The comments are those of the headers.", "",
         "| | |", "|---|---|"] + index) + "\n"

    if not check:
        PAGES.mkdir(parents=True, exist_ok=True)
        for file, text in pages.items():
            (PAGES / file).write_text(text)
        for path in PAGES.glob("*.md"):
            if path.name not in pages:
                path.unlink()
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
