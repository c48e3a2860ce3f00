"""The texts that a function may have been compiled from, also where there is no file: prompts, `-c`, standard input.

They are candidates. The reader accepts one only if the code compiled from it equals the function's own code.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import io
import linecache
import os
import stat
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator, Sequence

_PROMPTS = ("<stdin>", "<console>")
"""The file names of code from standard input, and from the prompt of Python 3.12 and older and of `code.interact`."""
_ARGUMENT = "<string>"
"""The file name of code from `python -c`, and of code from exec and eval."""
_RECENT = 1000
"""The lines of the history that are searched."""
_LONGEST = 300
"""The most lines of a statement at a prompt."""
_STANDARD_INPUT = 0


def texts_of(function: types.FunctionType) -> Iterator[str]:
    """The texts that may contain the function, the most likely first."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    # A frozen function has only the globals that it uses. The loader of a module in an archive is in the module.
    module = sys.modules.get(function.__globals__.get("__name__", ""))
    text = "".join(linecache.getlines(code.co_filename, vars(module) if module else function.__globals__))
    if text:
        yield text
    if code.co_filename == _ARGUMENT:
        yield from _arguments(tuple(sys.orig_argv))
    elif code.co_filename in _PROMPTS:
        piped = _redirected()
        if piped:
            yield piped
        yield from _statements([*piped.splitlines(), *_history()], code.co_firstlineno)


def has_file(code: types.CodeType) -> bool:
    """Whether the code came from a file, as opposed to a prompt, an argument, or exec."""
    return not (code.co_filename.startswith("<") and code.co_filename.endswith(">"))


@functools.lru_cache(maxsize=1)
def _arguments(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The texts after `-c` in the arguments of the interpreter, which may be part of the option, as in `-Ic…`."""
    inside = [each.partition("c")[2] for each in argv if each.startswith("-") and not each.startswith("--")]
    texts = [each for each in (*argv[1:], *inside) if each]
    return tuple(dict.fromkeys([*texts, *map(textwrap.dedent, texts)]))  # Python 3.14 removes common indentation


@functools.lru_cache(maxsize=1)
def _redirected() -> str:
    """The text of a file that standard input is redirected from; empty for a pipe or a terminal."""
    try:
        status = os.fstat(_STANDARD_INPUT)
        if not stat.S_ISREG(status.st_mode):
            return ""
        content = os.pread(_STANDARD_INPUT, status.st_size, 0)
        return importlib.util.decode_source(content)
    except (OSError, AttributeError, UnicodeDecodeError, SyntaxError):
        return ""


def _history() -> list[str]:
    """The last lines that were typed at a prompt, if readline records them."""
    readline = sys.modules.get("readline")
    if readline is None or not (hasattr(sys, "ps1") or sys.flags.interactive):
        return []
    last = readline.get_current_history_length()
    return [readline.get_history_item(number) or "" for number in range(max(1, last - _RECENT), last + 1)]


def _statements(lines: Sequence[str], line: int) -> Iterator[str]:
    """The statements with a function on their line `line`, the last first. At a prompt each is compiled separately."""
    for start in range(len(lines) - line, -1, -1):
        marked = lines[start + line - 1]
        if "lambda" in marked or "def" in marked or "@" in marked:
            yield from _from_line(lines[start : start + _LONGEST])


def _from_line(lines: Sequence[str]) -> Iterator[str]:
    """The texts from the first line on that are complete. A block may continue as long as lines are indented."""
    text = io.StringIO()
    complete = False
    for line in lines:
        if complete and not line.startswith((" ", "\t", "#")) and line.strip():
            return
        text.write(f"{line}\n")
        with contextlib.suppress(SyntaxError, ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.getvalue())
            complete = True
            yield text.getvalue()
