"""Which form each closure of the corpus gets, and why the others were refused; no Spark is needed to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from morisot.compile.choose import verdict_of
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import arguments

if TYPE_CHECKING:
    from benchmarks.closures.entry import Entry
    from morisot.compile.verdict import Verdict

KINDS = ("loop-free", "numeric loop", "other loop")
FORMS = ("column", "kernel", "stage")

TARGETS = {
    "flags.doubled": ("scalar arithmetic, `x * 2`", 15.0),
    "validation.large_in_europe": ("a filter on a record", 30.0),
    "numeric_loops.collatz": ("a numeric loop, collatz", 30.0),
}
"""Closures for which a ratio to the Arrow UDF is promised."""
RANGES = {"numeric_loops.collatz": 1_000_000}
"""Closures that are measured on a range of numbers, from this one on, which both ways make where they use them."""
FILTERS = frozenset({"validation.large_in_europe"})
"""Conditions that are measured as what they are for: the rows for which they hold, instead of a column of answers."""


def verdict(entry: Entry) -> Verdict:
    """What the ladder decides for a closure given to `map`, with its return type declared."""
    closure = Closure(entry.function, Location(__file__, 1), "map", entry.returns)
    return verdict_of(closure, arguments(entry.rows.type))


def counted(entries: Iterable[Entry]) -> dict[str, Counter[str]]:
    """How many closures of each kind get which form."""
    table = {kind: Counter[str]() for kind in KINDS}
    for entry in entries:
        table[entry.kind][verdict(entry).form] += 1
    return table
