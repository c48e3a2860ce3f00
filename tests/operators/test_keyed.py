"""Keys on every engine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morisot as mo
from tests.operators.engines import Runner


def test_group_by_collects_pairs(runner: Runner) -> None:
    assert runner.run(lambda s: s.group_by(lambda n: n % 2), [1, 2, 3]) == [(1, 1), (0, 2), (1, 3)]


def test_key_by_is_the_same_pairs(runner: Runner) -> None:
    assert runner.run(lambda s: s.key_by(lambda n: (n % 2, "k")), [1, 2]) == [((1, "k"), 1), ((0, "k"), 2)]


def test_key_by_stage(runner: Runner) -> None:
    assert runner.run(lambda s: s.key_by(lambda n: math.floor(n / 2)), [1, 4]) == [(0, 1), (2, 4)]


def test_unkey_drop_key_keys(runner: Runner) -> None:
    program: Callable[[Any], Any] = lambda s: s.group_by(lambda n: n % 2).map(lambda k, n: n * 10)  # noqa: E731
    assert runner.run(lambda s: program(s).unkey().map(lambda p: p[0] + p[1]), [1, 2]) == [11, 20]


def test_drop_key(runner: Runner) -> None:
    assert runner.run(lambda s: s.group_by(lambda n: n % 2).drop_key(), [1, 2]) == [1, 2]


def test_keys(runner: Runner) -> None:
    assert runner.run(lambda s: s.group_by(lambda n: n % 2).keys(), [1, 2, 3]) == [1, 0, 1]


def test_unkey_inside_a_stage(runner: Runner) -> None:
    program = lambda s: s.group_by(lambda n: math.floor(n)).drop_key().map(lambda n: math.floor(n) + 1)  # noqa: E731
    assert runner.run(program, [1, 2]) == [2, 3]


def test_unhashable_key_is_refused_when_the_plan_is_built(ctx: mo.StreamContext) -> None:
    with pytest.raises(
        mo.PlanError, match=r"the key of group_by has the type list\[str\], which Python cannot hash.*test_keyed"
    ):
        ctx.stream_iter(["a b"]).group_by(lambda t: t.split())


def test_unhashable_key_of_unknown_type_is_an_element_error(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.ElementError, match="unhashable type: 'list'"):
        ctx.stream_iter(["[1]"]).group_by_count(lambda text: json.loads(text)).collect()


def test_scalars_of_numpy(bounded_runner: Runner) -> None:
    def program(s: Any) -> Any:
        roots = s.flat_map(lambda n: [np.sqrt(n * n), np.float32(n)], returns=float, on_error="skip")
        return (
            roots.group_by(lambda x: np.int64(x)).fold(0.0, lambda a, x: a + x).unkey().map(lambda p: (int(p[0]), p[1]))
        )

    assert sorted(bounded_runner.run(program, [1, 2, 1])) == [(1, 4.0), (2, 4.0)]
