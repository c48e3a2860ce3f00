"""Lines of code and Halstead effort of Python programs: `python -m benchmarks.code_size FILE …`."""

from __future__ import annotations

import ast
import io
import keyword
import math
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 18
"""Halstead's number of elementary decisions in a second."""
_IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_VALUES = {"True", "False", "None"}
_CLOSING = {")", "]", "}"}


@dataclass(frozen=True)
class CodeSize:
    """The measures of one program."""

    lines: int
    operators: Counter[str]
    operands: Counter[str]

    @property
    def hours(self) -> float:
        """The time to write it, by Halstead: effort in hours."""
        distinct = len(self.operators) + len(self.operands)
        volume = (self.operators.total() + self.operands.total()) * math.log2(max(distinct, 2))
        difficulty = len(self.operators) / 2 * self.operands.total() / max(len(self.operands), 1)
        return difficulty * volume / _SECONDS / 3600


def size_of(text: str) -> CodeSize:
    """The measures of a program. Docstrings and comments do not count; a pair of brackets is one operator.

    >>> size = size_of("x = a + a")
    >>> size.lines, size.operators, size.operands
    (1, Counter({'=': 1, '+': 1}), Counter({'a': 2, 'x': 1}))
    """
    tree = ast.parse(text)
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    skipped: set[int] = set()
    for node in documented:
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            skipped |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    operators: Counter[str] = Counter()
    operands: Counter[str] = Counter()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _IGNORED or token.start[0] in skipped or not token.string:
            continue
        lines |= set(range(token.start[0], token.end[0] + 1))
        if token.type == tokenize.OP or (keyword.iskeyword(token.string) and token.string not in _VALUES):
            if token.string not in _CLOSING:
                operators[token.string] += 1
        else:
            operands[token.string] += 1
    return CodeSize(len(lines), operators, operands)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        found = size_of(Path(name).read_text())
        print(f"{name}: {found.lines} lines, {found.hours:.2f} hours")
