"""What of a program must stay as it was for it to go on from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.plan.description import describe, differences, fingerprint


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


def test_captured_values_and_called_functions_count() -> None:
    def mark(function: Any) -> str:
        from morisot.errors import Location
        from morisot.plan.closure import Closure

        return fingerprint(Closure(function, Location("f.py", 1), "map"))

    def adding(step: int) -> Any:
        return lambda n: n + step

    assert mark(adding(1)) == mark(adding(1))
    assert mark(adding(1)) != mark(adding(2))
    assert mark(len) != mark(abs)

    def calling(inner: Any) -> Any:
        return lambda n: inner(n)

    assert mark(calling(lambda n: n + 1)) == mark(calling(lambda n: n + 1))
    assert mark(calling(lambda n: n + 1)) != mark(calling(lambda n: n - 1))
