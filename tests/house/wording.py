"""Phrases that the project does not use: `python -m tests.house.wording` prints where they occur, and what to say.

It reads the prose of Markdown files, and docstrings, comments and messages of Python files. Code is not prose: neither
blocks nor spans in backticks, nor string literals without a space. It also prints lines of Markdown that are too wide.

A comment `wording: <reason>` exempts its line: `# wording: …` in Python, `<!-- wording: … -->` in Markdown.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = (
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"),
    *("benchmarks", "docs", "examples", "src", "tests"),
)
"""What `make lint` checks: files, and directories with all that is in them."""
EXAMPLES = tuple(ROOT / "tests" / "house" / name for name in ("wording.py", "test_wording.py"))
"""The rules and their examples contain the phrases, so they are not checked."""
WIDTH = 120


@dataclass(frozen=True)
class Rule:
    """A phrase that is not used. A space in its pattern matches any whitespace; if it has a group, only that counts."""

    phrase: str
    say: str
    pattern: str = ""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        pattern = self.pattern or rf"\b{self.phrase}\b"
        return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        return (match for match in self.compiled.finditer(text) if match.lastindex or not self.compiled.groups)


RULES = (
    # Bounded and unbounded
    Rule("endless", "unbounded", r"\bendless(?:ly)?\b"),
    Rule("without end", "unbounded; of waiting: indefinitely"),
    Rule("for ever", "indefinitely, without limit, permanently"),
    # Checkpoints and guarantees
    Rule("goes on", "resumes (a job), continues, advances (a watermark)", r"\b(?:go|goes|going|gone|went) on\b"),
    Rule("comes again", "is replayed, is retried, is repeated", r"\b(?:come|comes|coming|came) again\b"),
    Rule("done again", "replayed, retried, computed again"),
    Rule("what was saved", "the checkpoint, the snapshot", r"\bwhat (?:is|was|were|has been|it has|had been) saved\b"),
    Rule(
        "given once",
        "written exactly once, delivered exactly once",
        r"\bgiv(?:e|es|en|ing) (?:(?!at )\w+ )?(?:once|twice)\b",
    ),
    Rule(
        "has it already", "is committed already; the write is idempotent", r"\b(?:has|have|had) (?:it|them) already\b"
    ),
    Rule(
        "whole or not at all",
        "atomically",
        r"\bwhole,? or not at all\b|\b(?:is|are|be) there whole\b|\bappears? whole\b",
    ),
    Rule("anew", "again, from the start; `restart=None` starts from scratch"),
    Rule("without a word", "without an error, without a warning"),
    # Time
    Rule("silent input", "idle input (`silently`, for `without an error`, is allowed)", r"\bsilent\b|\bsilence\b"),
    Rule("told the time", "its watermark is advanced", r"\b(?:told|tells?|telling) (?:\w+ ){0,3}the time\b"),
    Rule("speaks again", "has new elements again", r"\bspeaks?\b"),
    Rule("waits for time", "has a timer; emits when the watermark advances", r"\bwait(?:s|ed|ing)? for (?:a )?time\b"),
    Rule("moves time on", "advances the watermark", r"\bmov(?:e|es|ed|ing) time\b|\btime (?:moves?|goes|moved)\b"),
    Rule(
        "all time has passed",
        "the watermark is at its maximum",
        r"\ball time has (?:been )?passed\b|\btime has come to\b",
    ),
    Rule("time of the clock", "processing time"),
    Rule("how far it is", "offset, progress, watermark, backlog; with `apart`: the time distance", r"\bhow far\b"),
    Rule(
        "holds up",
        "delays (the watermark of the others), blocks",
        r"\bhold(?:s|ing)? (?:\w+ )?up\b|\bheld (?:\w+ )?up\b",
    ),
    Rule("met by", "processed by, matched with"),
    # State, memory and plans
    Rule(
        "what is kept",
        "persisted, cached, retained, stored: say which",
        r"\b(?:what|that|which) (?:is|was|are|were) kept\b",
    ),
    Rule(
        "kept between",
        "stored in keyed state, persisted, cached, retained, preserved (an order)",
        r"\bkept (?:between|beside|from|until|while|in|on|by|for)\b|\b(?:not|one|ones|was|were) kept\b",
    ),
    Rule("dear", "expensive", r"\bdear(?:er|est)?\b"),
    Rule(
        "stands between",
        "is between, precedes, follows",
        r"\b(?:stand|stands|standing|stood) (?:between|beside|behind|before|still)\b",
    ),
    Rule(
        "where it stands",
        "its position, its row order, its index",
        r"\bwhere (?:\w+ ){1,4}(?:stands?|stood)\b|\bin which \w+ stand\b",
    ),
    Rule("owes, debt", "is strict, must be evaluated", r"\b(?:owe|owes|owed|owing|debts?)\b"),
    Rule("apart", "at a time distance of …; distinguished (of values); separate", r"\bapart\b(?! from)"),
    Rule(
        "near in time",
        "within the time distance",
        r"\bnear (?:in time|it|to|one|them|each)\b|\b(?:is|are|was|were) near\b",
    ),
    Rule(
        "piece",
        "source split, part, chunk (`piece of code` and `of advice` are allowed)",
        r"\bpieces?\b(?! of (?:code|advice)\b)",
    ),
    Rule("stretch", "range, interval, source split", r"\bstretch(?:es)?\b"),
    Rule("what waits", "backlog, buffered elements", r"\bwhat (?:still |there )?waits\b"),
    Rule(
        "its place",
        "row order, position, index, directory, report id: say which; `in its place`: instead",
        r"(?:\b(?:in|takes?|decimal|in one|many|some|other|several|number of)|\*\*) places?\b|\b(places?)\b",
    ),
    Rule(
        "at the fork",
        "shared stream of a query group",
        r"\b(?:at|behind|before|above|below|of|by) (?:the|a|their|its) fork\b",
    ),
    Rule("spool", "channel files", r"\bspool(?:s|ed)?\b"),
    Rule("lowering", "emission, emit", r"\b(?:lowerings?|lowered)\b"),
    Rule("leader", "coordinator"),
    Rule("back-pressure", "backpressure"),
    Rule("forgets", "removes from its state, discards, expires", r"\bforg(?:ets?|ot|otten|etting)\b(?! to\b)"),
    Rule("hands on", "emits, passes", r"\bhand(?:s|ed|ing)? on\b"),
    Rule("believes", "uses, trusts", r"\bbeliev(?:e|es|ed)\b"),
    # Forms
    Rule(
        "cannot do", "does not support, cannot compute", r"\b(?:cannot|could not) do\b(?! (?:so|that|this|without)\b)"
    ),
    Rule(
        "meets a value",
        "encounters, fails on (a value); is combined with (a stream); is in one partition with (keys)",
        r"\b(?:met|meets?) (?:a value|values?|data|one|in|each other|only|it|(?:a|an) (?:un)?bounded)\b",
    ),
    Rule("sees the order", "depends on the row order", r"\b(?:see|sees|seen|seeing|saw) the (?:row )?order\b"),
    Rule("Spark's words", "a Spark expression", r"\b(?:Spark|Python|Java)'s words?\b|\bin the words\b"),
    Rule(
        "is Python's to do",
        "Python computes it",
        r"'s to (?:do|divide|decide|close|know|say|pickle|sort|give|tell|make)\b",
    ),
    Rule("word for it", "does not check it"),
    # Sentences
    Rule(
        "nobody, somebody",
        "name the subject: no operator, a sink, a reader, the caller",
        r"\b(?:nobody|somebody|anybody|whoever)\b",
    ),
    Rule(
        "so many, so often", "the maximum number of …, at most …, n", r"\bso (?:many|often|much) (?!as\b|that\b|more\b)"
    ),
    Rule(
        "a class of Spark's",
        "a Spark class, the user's function",
        r"\bof (?:the user|Spark|PySpark|Morisot|Python|Java|Arrow|Kafka)'s(?=[.,;:)]|$"
        r"| (?:that|which|and|or|is|are|has|may|can|for|in|by|with|to|on|at|over|from|does|whose)\b)",
    ),
    Rule(
        "what … what …",
        "name the things; a clause with `what` inside another one is hard to read",
        r"\bwhat\b(?:(?!\n\s*\n)[^.?!;:,|])*(?<!and)(?<!or)(?<!not) what\b",
    ),
)


@dataclass(frozen=True)
class Finding:
    """A problem in a line of a file."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Prose:
    """Some text of a file, which begins in a line; code in it is blank."""

    line: int
    text: str


def problems(files: Iterable[Path]) -> list[Finding]:
    """The banned phrases, wide lines and useless exemptions in some files."""
    return [finding for file in files for finding in _problems_of(file)]


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """The Markdown and Python files that some paths name, directly or as directories."""
    for path in paths:
        if path.is_dir():
            found = (file for suffix in ("md", "py") for file in path.rglob(f"*.{suffix}"))
            yield from sorted(file for file in found if file not in EXAMPLES)
        elif path.exists():
            yield path
        else:
            raise FileNotFoundError(path)


def _problems_of(file: Path) -> Iterator[Finding]:
    content = file.read_text(encoding="utf-8")
    markdown = file.suffix == ".md"
    found = [
        *(_wide_lines(content) if markdown else ()),
        *_phrases(_of_markdown(content) if markdown else _of_python(content)),
    ]
    exempt = _exempt_lines(content, markdown=markdown)
    for line in exempt - {line for line, _ in found}:
        yield Finding(file, line, "this exemption is not needed: remove it")
    for line, text in sorted(found):
        if line not in exempt:
            yield Finding(file, line, text)


def _phrases(texts: Iterable[Prose]) -> Iterator[tuple[int, str]]:
    for prose in texts:
        for rule in RULES:
            for match in rule.matches(prose.text):
                shown = " ".join(match.group().split())
                line = prose.line + prose.text.count("\n", 0, match.start())
                yield line, f"{shown!r}: say {rule.say}"


def _exempt_lines(content: str, *, markdown: bool) -> set[int]:
    """The lines with an exemption; one without a reason exempts nothing."""
    exemption = re.compile(r"<!-- wording: \w.*-->" if markdown else r"#(?:.*\s)?wording: \w")
    return {number for number, line in enumerate(content.splitlines(), 1) if exemption.search(line)}


# -- Markdown ---------------------------------------------------------------------------------------------------------


def _of_markdown(content: str) -> Iterator[Prose]:
    yield Prose(
        1, _without_code(re.sub(r"<!--.*?-->|\]\([^)\s]*\)", _blank, _without_blocks(content), flags=re.DOTALL))
    )


def _wide_lines(content: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_without_blocks(content).splitlines(), 1):
        width = len(re.sub(r"\]\([^)\s]*\)|<https?://[^>]*>|<!-- wording:.*-->", "]", line))
        if width > WIDTH and not line.lstrip().startswith(("|", "#")):  # neither a table nor a heading can be wrapped
            yield number, f"{width} characters: wrap the line at {WIDTH}"


def _without_blocks(content: str) -> str:
    """The text with its fenced blocks blank."""
    return re.sub(r"^( *)(```+).*?^ *\2`*$", _blank, content, flags=re.DOTALL | re.MULTILINE)


# -- Python -----------------------------------------------------------------------------------------------------------


def _of_python(content: str) -> Iterator[Prose]:
    yield from _comments(content)
    yield from _strings(ast.parse(content))


def _comments(content: str) -> Iterator[Prose]:
    """The comments; those in consecutive lines are one text."""
    last: Prose | None = None
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type != tokenize.COMMENT:
            continue
        text = _without_code(token.string.lstrip("#").partition("wording: ")[0])
        if last is not None and token.start[0] == last.line + last.text.count("\n") + 1:
            last = Prose(last.line, f"{last.text}\n{text}")
            continue
        if last is not None:
            yield last
        last = Prose(token.start[0], text)
    if last is not None:
        yield last


def _strings(node: ast.AST) -> Iterator[Prose]:
    """Docstrings and messages; values that an f-string puts in are blank."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _message(node, node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "_" for part in node.values)
        yield from _message(node, "".join(map(str, parts)))
        for part in node.values:
            yield from () if isinstance(part, ast.Constant) else _strings(part)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def _message(node: ast.expr, text: str) -> Iterator[Prose]:
    """The text of a string literal, without the examples of a docstring; nothing if it has no space."""
    if " " in text:
        text = re.sub(r"^ *>>>.*?(?=\n *\n|\Z)", _blank, text, flags=re.DOTALL | re.MULTILINE)
        yield Prose(node.lineno, _without_code(text))


def _without_code(text: str) -> str:
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", _blank, text, flags=re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    """As many lines as the match has, without anything in them but a word that no rule has."""
    return "_" + "\n" * match.group().count("\n")


# -- the command ------------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Print the findings in some paths; 1 if there are any."""
    parser = argparse.ArgumentParser(
        description="Print phrases that the project does not use, and lines that are too wide."
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[ROOT / path for path in PATHS], help="files and directories"
    )
    parser.add_argument("--count", action="store_true", help="print only the number of findings in each directory")
    parser.add_argument("--list", action="store_true", help="print the phrases as a table")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(["| not | say |", "|---|---|", *(f"| {rule.phrase} | {rule.say} |" for rule in RULES)]))
        return 0
    found = problems(files_below(options.paths))
    if options.count:
        counts = Counter(finding.file.parent for finding in found)
        print("\n".join(f"{number:5} {directory}" for directory, number in sorted(counts.items())))
    else:
        print("\n".join(map(str, found)), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
