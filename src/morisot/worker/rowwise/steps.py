"""The steps of a fused pass, and the text of the loop that runs them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from morisot.errors import Location
from morisot.types.element import Type
from morisot.worker.codec.fits import condition
from morisot.worker.report.left_out import Policy

Kind = Literal[
    "map",
    "filter",
    "flat_map",
    "filter_map",
    "flatten",
    "inspect",
    "map_async",
    "key_by",
    "with_result",
    "branches",
    "branch",
    "without_failures",
    "same",
    "unkey",
    "drop_key",
    "keys",
]

# Code of each kind of step: from the element `{x}` to `{y}`. `f` is the step's function. `check` is replaced by a test
# of its result. Keyed functions take (key, value) and change only the value.
_PLAIN: dict[str, tuple[str, ...]] = {
    "map": ("{y} = {f}({x})", "check {y}"),
    "filter": ("if not {f}({x}): continue", "{y} = {x}"),
    "flat_map": ("for {y} in {f}({x}):", "    check {y}"),
    "filter_map": ("{y} = {f}({x})", "if {y} is None: continue", "check {y}"),
    "flatten": ("for {y} in {x}:",),
    "inspect": ("{f}({x})", "{y} = {x}"),
    "key_by": ("{i} = {f}({x})", "check {i}", "{y} = ({i}, {x})"),
    "with_result": ("{y} = ({f}({x}), {x})",),
    "branches": ("{y} = ({f}({x}), {x})",),
    "branch": ("if not {f}({x}[0]): continue", "{y} = {x}[1]"),
    "without_failures": ("{y}, {i} = {f}({x})", "if {i} is not None: {n}({i})"),
    "same": ("{y} = {x}",),
}
_KEYED: dict[str, tuple[str, ...]] = {
    "map": ("{i} = {f}(*{x})", "check {i}", "{y} = ({x}[0], {i})"),
    "filter": ("if not {f}(*{x}): continue", "{y} = {x}"),
    "flat_map": ("for {i} in {f}(*{x}):", "    check {i}", "    {y} = ({x}[0], {i})"),
    "filter_map": ("{i} = {f}(*{x})", "if {i} is None: continue", "check {i}", "{y} = ({x}[0], {i})"),
    "flatten": ("for {i} in {x}[1]:", "    {y} = ({x}[0], {i})"),
    "inspect": ("{f}(*{x})", "{y} = {x}"),
    "key_by": ("{i} = {f}({x}[1])", "check {i}", "{y} = ({i}, {x}[1])"),
    "with_result": ("{y} = ({f}(*{x}), {x})",),
    "branches": ("{y} = ({x}[0], ({f}(*{x}), {x}[1]))",),
    "branch": ("if not {f}({x}[1][0]): continue", "{y} = ({x}[0], {x}[1][1])"),
    "without_failures": ("{y}, {i} = {f}({x}[1])", "if {i} is not None: {n}({i})", "{y} = ({x}[0], {y})"),
    "same": ("{y} = {x}",),
    "unkey": ("{y} = {x}",),
    "drop_key": ("{y} = {x}[1]",),
    "keys": ("{y} = {x}[0]",),
}


@dataclass(frozen=True)
class Step:
    """One operator's work on an element."""

    kind: Kind
    operator: str
    location: Location | None
    keyed: bool = False
    function: Callable[..., Any] | None = None
    concurrency: int = 1
    returns: Type | None = None
    """The declared type of the function's result, if it has to be tested."""
    sampled: int = 0
    """The number of elements that this type was inferred from; 0 if it was declared."""
    policy: Policy | None = None
    """The treatment of elements on which the function fails; None: the job stops."""
    counted: int | None = None
    """The operator's number in the run, if the pass counts the elements that it emits."""


class Memo:
    """A function that caches the results of its last `capacity` distinct keys, in each worker."""

    def __init__(self, function: Callable[..., Any], key: Callable[..., Any] | None, capacity: int) -> None:
        self._recipe = (function, key, capacity)
        self._key = key
        self._remembered = functools.lru_cache(maxsize=capacity)(lambda call: function(*call.arguments))

    def __call__(self, *arguments: Any) -> Any:
        key = self._key(*arguments) if self._key else arguments
        return self._remembered(_KeyedCall(key, arguments))

    def __reduce__(self) -> tuple[Any, ...]:
        return Memo, self._recipe


@dataclass(frozen=True)
class Generator:
    """The function of a parallel source, called with the number of instances."""

    function: Callable[[int, int], Iterable[Any]]
    instances: int

    def __call__(self, instance: int) -> Iterable[Any]:
        return self.function(instance, self.instances)


@dataclass(frozen=True, eq=False)
class _KeyedCall:
    """Arguments that are equal if their keys are, so that the cache looks up the key and calls with the arguments."""

    key: Any
    arguments: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _KeyedCall) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def loop_source(steps: Sequence[Step], names: dict[str, Any], numbered: bool = False) -> tuple[str, dict[int, int]]:
    """The text of the fused loop, and the step of each of its lines. Names that tests use are added to `names`.

    Numbered elements are pairs (element, number).
    """
    lines = ["def loop(elements, emit):", f"    for {'e0, number' if numbered else 'e0'} in elements:"]
    owner: dict[int, int] = {}
    indent = 8
    for number, step in enumerate(steps):
        template = _lines(step, number, names)
        for line in template:
            lines.append(" " * indent + line)
            owner[len(lines)] = number
        if step.kind in ("flat_map", "flatten"):
            indent += 4
        if step.counted is not None:
            lines.append(" " * indent + f"given[{step.counted}] += 1")
    result = f"e{len(steps)}"
    lines.append(" " * indent + (f"emit(({result}, number))" if numbered else f"emit({result})"))
    return "\n".join(lines) + "\n", owner


def _lines(step: Step, number: int, names: dict[str, Any]) -> list[str]:
    """The lines of one step."""
    x, given = f"e{number}", f"i{number}"
    filled = [
        line.format(x=x, y=f"e{number + 1}", i=given, f=f"f{number}", n=f"note{number}")
        for line in (_KEYED if step.keyed else _PLAIN)[step.kind]
    ]
    lines = [each for line in filled if (each := _tested(line, step, number, names))]
    if step.policy is None or step.kind == "without_failures":  # the failures are part of the element
        return lines
    element = f"{x}[1]" if step.keyed and step.kind == "key_by" else x
    leave = ["except Exception as error:", f"    left{number}({element}, error)", "    continue"]
    if step.kind != "flat_map":
        return ["try:", *(f"    {line}" for line in lines), *leave]
    # an element is skipped as a whole: all its items are computed before the first is emitted
    head, _, container = lines[0].removesuffix(":").partition(" in ")
    tests = [line for line in lines[1:] if "refuse" in line]
    tested = [f"    {head} in items{number}:", *(f"    {line}" for line in tests)] if tests else []
    guarded = ["try:", f"    items{number} = [*{container}]", *tested, *leave]
    return [*guarded, f"{head} in items{number}:", *lines[1:]]


def _tested(line: str, step: Step, number: int, names: dict[str, Any]) -> str:
    """A line of a template with its test; nothing if it is a test and the type is not tested."""
    indent, check, value = line.partition("check ")
    if not check:
        return line
    if step.returns is None:
        return ""
    return f"{indent}if not {condition(value, step.returns, names)}: {value} = refuse{number}({value})"
