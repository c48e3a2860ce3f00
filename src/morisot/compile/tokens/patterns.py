"""Regular expressions whose matches have no separators, and do not depend on what is next to a token."""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_FLAGS = re.UNICODE | re.IGNORECASE | re.ASCII
"""The flags that do not change which separators match: a separator has no case, and is ASCII."""


def avoids(pattern: str | re.Pattern[str], separators: str) -> bool:
    r"""Whether each match has a character, has no separator, and is the same if a separator or nothing is next to it.

    >>> avoids(r"\w+", " "), avoids(r"[^,]+", " "), avoids(r"^\w+", " "), avoids(r"\w*", " ")
    (True, False, False, False)
    """
    source, flags = (pattern, int(re.UNICODE)) if isinstance(pattern, str) else (pattern.pattern, pattern.flags)
    if flags & ~_FLAGS:
        return False
    try:
        parsed = parser.parse(source, flags)
    except (re.error, TypeError):  # a pattern of bytes, or not valid: Python raises it
        return False
    if parsed.state.flags & ~_FLAGS or parsed.getwidth()[0] == 0:
        return False
    return _sequence_avoids(parsed, separators)


def _sequence_avoids(items: Any, separators: str) -> bool:
    return all(_item_avoids(code, argument, separators) for code, argument in items)


def _item_avoids(code: Any, argument: Any, separators: str) -> bool:
    match code:
        case codes.LITERAL | codes.NOT_LITERAL | codes.IN:
            return not any(_matches(code, argument, each) for each in separators)
        case codes.MAX_REPEAT | codes.MIN_REPEAT:
            return _sequence_avoids(argument[2], separators)
        case codes.SUBPATTERN:
            _group, added, removed, inner = argument
            return not added and not removed and _sequence_avoids(inner, separators)
        case codes.BRANCH:
            return all(_sequence_avoids(branch, separators) for branch in argument[1])
        case codes.AT:  # the boundary of a word is the same next to a separator as at the end of a text
            return argument is codes.AT_BOUNDARY and not re.search(r"\w", separators)
    return False


def _matches(code: Any, argument: Any, character: str) -> bool:
    """Whether a part that matches one character matches this one, which has no case."""
    match code:
        case codes.LITERAL:
            return chr(argument) == character
        case codes.NOT_LITERAL:
            return chr(argument) != character
        case codes.RANGE:
            return bool(argument[0] <= ord(character) <= argument[1])
        case codes.CATEGORY:
            return argument not in _CATEGORIES or re.match(_CATEGORIES[argument], character) is not None
    negated = argument[0][0] is codes.NEGATE
    found = any(_matches(kind, what, character) for kind, what in argument[negated:])
    return found is not negated
