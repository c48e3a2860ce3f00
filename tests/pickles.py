"""Which globals a pickle names, found without loading it: the classes and functions that a reader must still have."""

from __future__ import annotations

import pickletools
import re
from collections.abc import Iterator
from typing import Any

_PICKLE = re.compile(rb"\x80[\x02-\x05]")
"""How a pickle begins: with its protocol."""
_STRINGS = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING"}
_BYTES = {"SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"}
_PUTS = {"MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT"}
_GETS = {"BINGET", "LONG_BINGET", "GET"}


def globals_in(data: bytes) -> set[str]:
    """The globals of all pickles in some bytes, as `module name`: at their beginning, inside, and in each other."""
    found: set[str] = set()
    for match in _PICKLE.finditer(data):
        try:
            found |= set(_globals(data[match.start() :]))
        except Exception:
            continue
    return found


def own_globals_in(data: bytes) -> list[str]:
    """Those that are Morisot's: moving a module would make the bytes unreadable."""
    return sorted(each for each in globals_in(data) if each.split(" ")[0].partition(".")[0] == "morisot")


def _globals(data: bytes) -> Iterator[str]:
    """Follow the texts that a pickle pushes: the last two before STACK_GLOBAL are a module and a name."""
    pushed: list[str | None] = []
    memo: dict[int, str | None] = {}
    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in _STRINGS:
            pushed.append(str(argument))
        elif name in _GETS:
            pushed.append(memo[int(argument)])
        elif name in _PUTS:
            memo[len(memo) if name == "MEMOIZE" else int(argument)] = pushed[-1] if pushed else None
        elif name == "STACK_GLOBAL":
            module, attribute = pushed[-2:]
            yield f"{module} {attribute}"
            pushed.append(None)
        elif name in {"GLOBAL", "INST"}:
            yield str(argument)
            pushed.append(None)
        elif opcode.stack_after:
            pushed.append(None)
        if name in _BYTES:
            yield from globals_in(bytes(argument))
