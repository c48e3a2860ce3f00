"""The parts of a program that must not change between a snapshot and a resumed job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.errors import Location
from morisot.plan.analysis.fingerprint import describe, differences, fingerprint
from morisot.plan.nodes.closure import Closure


def described(program: Callable[[Any], Any], directory: Path, **settings: int) -> Any:
    ctx = mo.StreamContext(engine="reference")
    stream = program(ctx.stream_file(directory, unbounded=True))
    return json.loads(json.dumps(describe(stream._node, **settings)))


def base(lines: Any) -> Any:
    return lines.map(lambda t: int(t)).group_by(lambda n: n % 3).rich_map(0, lambda s, k, n: (s + n, s + n))


def test_the_same_program_written_elsewhere_may_go_on(tmp_path: Path) -> None:
    def again(lines: Any) -> Any:
        numbers = lines.map(lambda t: int(t))
        return numbers.group_by(lambda n: n % 3).rich_map(0, lambda s, k, n: (s + n, s + n))

    assert differences(described(base, tmp_path), described(again, tmp_path)) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            lambda s: s.map(lambda t: int(t)).group_by(lambda n: n % 4).rich_map(0, lambda s, k, n: (s + n, s + n)),
            r"group_by \(.*:\d+\): its key changed",
        ),
        (
            lambda s: s.map(lambda t: int(t)).group_by(lambda n: n % 3).rich_map(1, lambda s, k, n: (s + n, s + n)),
            r"rich_map \(.*\): init was 0 and is 1",
        ),
        (
            lambda s: s.map(lambda t: float(t)).group_by(lambda n: 1).rich_map(0.0, lambda s, k, n: (s + n, s + n)),
            r"map \(.*\) gives float, and gave int",
        ),
        (
            lambda s: (
                s.map(lambda t: int(t))
                .filter(lambda n: n > 1)
                .group_by(lambda n: n % 3)
                .rich_map(0, lambda s, k, n: (s + n, s + n))
            ),
            r"filter \(.*\) is new",
        ),
        (lambda s: s.map(lambda t: int(t)).group_by(lambda n: n % 3), r"rich_map \(.*\) is not there any more"),
        (
            lambda s: s.map(lambda t: int(t)).group_by(lambda n: n % 3).fold(0, lambda a, n: a + n),
            r"rich_map \(.*\) has become fold \(",
        ),
    ],
)
def test_what_changed_is_said(changed: Callable[[Any], Any], said: str, tmp_path: Path) -> None:
    found = differences(described(base, tmp_path), described(changed, tmp_path))
    import re

    assert any(re.search(said, each) for each in found), found


def test_operators_with_a_name_may_change(tmp_path: Path) -> None:
    def named(keeps: int, step: int, fresh: bool) -> Callable[[Any], Any]:
        def program(lines: Any) -> Any:
            numbers = lines.map(lambda t: int(t)).filter(lambda n: n % keeps == 0).name("kept")
            if fresh:
                numbers = numbers.map(lambda n: n + 1).name("fresh")
            return numbers.rich_map(0, lambda s, n: (s + step, s)).name("steps")

        return program

    first = described(named(1, 1, False), tmp_path)
    assert differences(first, described(named(2, 5, True), tmp_path)) == []


def test_settings_of_the_state_must_stay(tmp_path: Path) -> None:
    before, after = (described(base, tmp_path, parallelism=n) for n in (2, 3))
    assert differences(before, after) == ["parallelism was 2 and is 3"]


def mark(function: Any) -> str:
    return fingerprint(Closure(function, Location("f.py", 1), "map"))


def test_captured_values_and_called_functions_count() -> None:
    def adding(step: int) -> Any:
        return lambda n: n + step

    assert mark(adding(1)) == mark(adding(1))
    assert mark(adding(1)) != mark(adding(2))
    assert mark(len) != mark(abs)

    def calling(inner: Any) -> Any:
        return lambda n: inner(n)

    assert mark(calling(lambda n: n + 1)) == mark(calling(lambda n: n + 1))
    assert mark(calling(lambda n: n + 1)) != mark(calling(lambda n: n - 1))


def test_functions_of_morisots_own_count_by_what_the_user_gave_them() -> None:
    """They may be written otherwise, and in another module, in the next version."""

    def wrapped(inner: Any, module: str, **name: Any) -> str:
        def one(element: Any) -> Any:
            return inner(element)

        def other(element: Any) -> Any:
            result = inner(element)
            return result or None

        function = other if name else one
        function.__module__ = module
        return mark(function)

    first = wrapped(lambda n: n + 1, "morisot.api.windows")
    assert first == wrapped(lambda n: n + 1, "morisot.elsewhere", other=True)
    assert first != wrapped(lambda n: n + 2, "morisot.api.windows")
    assert wrapped(abs, "__main__") != wrapped(abs, "__main__", other=True)


class Callable1:
    def __call__(self, n: int) -> int:
        return n


def test_an_object_that_is_called_counts_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark(Callable1())
    monkeypatch.setattr(Callable1, "__module__", "morisot.one")
    own = mark(Callable1())
    monkeypatch.setattr(Callable1, "__module__", "morisot.other.place")
    assert before != own == mark(Callable1())


@pytest.mark.parametrize("name", ["", "counted"])
def test_what_is_computed_of_a_window_must_stay(name: str, tmp_path: Path) -> None:
    def windows(aggregate: Any) -> Any:
        def program(lines: Any) -> Any:
            counted = lines.window_all(mo.CountWindow.tumbling(2)).aggregate(n=aggregate(lambda t: len(t)))
            return counted.name(name) if name else counted

        return described(program, tmp_path)

    (said,) = differences(windows(mo.agg.sum), windows(mo.agg.max))
    assert said.endswith("computes max, and computed sum")
    assert differences(windows(mo.agg.sum), windows(mo.agg.sum)) == []


def test_the_columns_of_rows_must_stay(tmp_path: Path) -> None:
    def rows(*columns: str) -> Any:
        import pyarrow as pa

        table = pa.table({column: [1] for column in columns})
        return json.loads(json.dumps(describe(mo.StreamContext(engine="reference").stream_arrow(table)._node)))

    (said,) = differences(rows("a"), rows("a", "b"))
    assert "gives Row(a: int | None, b: int | None), and gave Row(a: int | None)" in said


def test_a_plan_of_earlier_types_may_go_on_if_only_none_is_excluded(tmp_path: Path) -> None:
    """Programs of earlier versions have optional types after a filter, and pickled results of some functions."""

    def program(lines: Any) -> Any:
        numbers = lines.map(lambda t: (t, int(t) if t else None)).filter(lambda p: p[1] is not None)
        return numbers.group_by(lambda p: p[1] % 3).rich_map(0, lambda s, k, p: (s + 1, s))

    now = described(program, tmp_path)
    saved = json.loads(json.dumps(now))
    del saved["types"]
    types = [each["type"] for each in saved["operators"]]
    assert types[1:3] == ["tuple[str, int | None]", "tuple[str, int]"]
    saved["operators"][2]["type"] = "tuple[str, int | None]"
    assert differences(saved, now) == []
    saved["operators"][2]["type"] = "object"
    (said,) = differences(saved, now)
    assert said.endswith("gives tuple[str, int], and gave object (this version of Morisot infers more types)")
    saved["operators"][2]["type"] = "tuple[str, int] | None"
    assert len(differences(saved, now)) == 1
    (said,) = differences({**saved, "types": now["types"]}, now)
    assert said.endswith("gives tuple[str, int], and gave tuple[str, int] | None")
