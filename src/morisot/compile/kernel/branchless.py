"""Short branches without a jump: both sides are computed, and the condition selects one of the results.

The processor mispredicts a branch on data, such as whether a number is even, about every second time. Where both
sides are a few additions and multiplications, computing both is faster. The side that is not taken may overflow:
only an overflow of the side that is taken counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from morisot.compile.kernel.terms import BAD

_HEAD = re.compile(r"( *)if (.+):")
_CHECKED = re.compile(r"(t\d+), (t\d+) = (?:add|subtract|multiply)\([\w ,()-]+\)")
_PLAIN = re.compile(r"(t\d+) = ([\w ()+*&|^~<>=!.-]+)")
_FAILS = re.compile(rf"if (t\d+): {re.escape(BAD)}")
_CALL = re.compile(r"\w\(")
_LONGEST = 8
"""The most lines of a side: with more of them a jump may cost less."""


def branchless(lines: Sequence[str]) -> list[str]:
    """The lines of an if with an else, without a jump if both sides are short and only compute values."""
    head = _HEAD.fullmatch(lines[0]) if lines else None
    if head is None:
        return list(lines)
    indent, test = head[1], head[2]
    if f"{indent}else:" not in lines:
        return list(lines)
    middle = list(lines).index(f"{indent}else:")
    first, second = _side(lines[1:middle], indent), _side(lines[middle + 1 :], indent)
    if first is None or second is None:
        return list(lines)
    (then, then_fails), (otherwise, otherwise_fails) = first, second
    results = [name for name in then if name in otherwise]
    if not results:
        return list(lines)
    chosen = f"{results[0]}c"
    made = [f"{chosen} = {test}"]
    made += [_renamed(text, results, "a") for text in then.values()]
    made += [_renamed(text, results, "b") for text in otherwise.values()]
    # `&` and `|`, because `and` and `or` compile to jumps
    fails = [
        f"({' | '.join(names)}) & {when}"
        for names, when in ((then_fails, chosen), (otherwise_fails, f"(not {chosen})"))
        if names
    ]
    if fails:
        made.append(f"if {' | '.join(f'({each})' for each in fails)}: {BAD}")
    made += [f"{name} = {name}a if {chosen} else {name}b" for name in results]
    return [indent + line for line in made]


def _side(lines: Sequence[str], indent: str) -> tuple[dict[str, str], list[str]] | None:
    """The value that each variable of a side gets, in order, and the variables that hold whether it failed."""
    if len(lines) > _LONGEST:
        return None
    assigned: dict[str, str] = {}
    fails: list[str] = []
    for line in lines:
        text = line.removeprefix(f"{indent}    ")
        if checked := _CHECKED.fullmatch(text):
            assigned[checked[1]] = text
        elif (plain := _PLAIN.fullmatch(text)) and not _CALL.search(plain[2]):
            assigned[plain[1]] = text
        elif failing := _FAILS.fullmatch(text):
            fails.append(failing[1])
        else:
            return None
    return assigned, fails


def _renamed(text: str, names: Sequence[str], suffix: str) -> str:
    """The text with a suffix on the variables that both sides assign."""
    for name in names:
        text = re.sub(rf"\b{name}\b", f"{name}{suffix}", text)
    return text


_MOST = 2**63 - 1
_WITH_CONSTANT = re.compile(r"(t\d+), (t\d+) = (add|multiply)\((\w+), (\w+)\)")


def early_checks(text: str) -> str:
    """The text with overflow checks of `x + 7` and `3 * x` computed from x, so that they do not depend on the result.

    >>> early_checks("t3, t4 = multiply(3, n_i)")
    't3, t4 = 3 * n_i, (n_i > 3074457345618258602) | (n_i < -3074457345618258602)'
    """
    return _WITH_CONSTANT.sub(_early, text)


def _early(found: re.Match[str]) -> str:
    result, failed, function, left, right = found.groups()
    constant, other = (left, right) if left.isdigit() else (right, left)
    if not constant.isdigit() or other.isdigit() or int(constant) == 0:
        return found[0]
    number = int(constant)
    if function == "add":
        return f"{result}, {failed} = {other} + {number}, {other} > {_MOST - number}"
    limits = f"({other} > {_MOST // number}) | ({other} < -{(_MOST + 1) // number})"
    return f"{result}, {failed} = {number} * {other}, {limits}"
