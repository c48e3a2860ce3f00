"""The body and the fold of a loop as one kernel give what Python gives, element by element."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from morisot.compile.kernel.loop import LoopFunctions, compile_loop
from morisot.compile.verdict import Refusal
from morisot.plan.nodes.closure import freeze
from morisot.types import infer
from morisot.types.array import flat, of_numbers, own_numbers, rebuilt
from morisot.types.element import FLOAT, INT, Record, Tuple, Type
from morisot.worker.codec.batches import encode
from morisot.worker.loops.kernel import LoopKernel, MachineRound, machine_code
from morisot.worker.loops.state import LoopState
from morisot.worker.rowwise.stage import Pipeline
from morisot.worker.rowwise.steps import Step

STATE = LoopState()


class Point(NamedTuple):
    x: float
    y: float


def step(kind: Any, function: Callable[..., Any] | None = None, keyed: bool = False) -> Step:
    return Step(kind, kind, None, keyed=keyed, function=None if function is None else freeze(function))


def compiled(
    steps: list[Step], fold: Any, elements: Type, state: Any, delta: Any, feedback: bool = False
) -> LoopKernel | Refusal:
    states, deltas = of_numbers(state), of_numbers(delta)
    assert deltas is not None
    functions = LoopFunctions(tuple(steps), freeze(fold), elements, states, deltas, STATE, feedback)
    return compile_loop(functions)


def in_python(steps: list[Step], fold: Any, elements: list[Any], state: Any, delta: Any) -> tuple[list[Any], Any]:
    STATE.set(state)
    leaving = Pipeline(steps).run(elements) if steps else elements
    delta = copy.deepcopy(delta)
    for element in leaving:
        delta = fold(delta, element)
    return leaving, own_numbers(delta)


def check(
    steps: list[Step], fold: Any, elements: list[Any], state: Any, delta: Any, *, feedback: bool = False
) -> int | None:
    """Both ways give the same; how many elements the kernel left to Python, None if all of them."""
    type_ = infer.of_values(elements)
    kernel = compiled(steps, fold, type_, state, delta, feedback)
    assert isinstance(kernel, LoopKernel), kernel
    expected, folded = in_python(steps, fold, elements, state, delta)
    columns = [np.array(column.to_numpy(zero_copy_only=False)) for column in encode(elements, type_, repr_bytes)]
    repaired: list[int] = []

    def repair(row: int, so_far: Any) -> Any:
        repaired.append(row)
        leaving, so_far = in_python(steps, fold, [elements[row]], state, so_far)
        return [flat(each, type_) if feedback else [] for each in leaving], so_far

    code = machine_code(kernel.functions, kernel.loop)
    done = MachineRound(kernel, code, columns, len(elements)).run(state, copy.deepcopy(delta), repair)
    if done is None:
        return None
    count, result, outputs = done
    assert count == len(expected)
    assert repr(result) == repr(folded)
    if feedback:
        assert [
            rebuilt(list(row), type_) for row in zip(*(column.tolist() for column in outputs), strict=True)
        ] == expected
    return len(repaired)


def repr_bytes(value: Any) -> bytes:
    return repr(value).encode()


def nearest(point: Point, centres: Any) -> int:
    best, least = 0, 1e300
    for place in range(len(centres)):
        across, up = point.x - centres[place, 0], point.y - centres[place, 1]
        distance = across * across + up * up
        if distance < least:
            best, least = place, distance
    return best


def put(sums: Any, assigned: tuple[int, Point]) -> Any:
    place, point = assigned
    sums[place, 0] += point.x
    sums[place, 1] += point.y
    sums[place, 2] += 1
    return sums


def test_numbers() -> None:
    steps = [step("map", lambda n: n * STATE.value + 1), step("filter", lambda n: n % 3 != 0)]
    assert check(steps, lambda d, n: d + n, list(range(100)), 7, 0) == 0


def test_tuples_and_records() -> None:
    points = [Point(n / 7, n / 3) for n in range(50)]
    steps = [step("map", lambda p: (p.x + STATE.value[0], p.y * STATE.value[1]))]
    assert check(steps, lambda d, p: (d[0] + p[0], max(d[1], p[1])), points, (0.5, 3.0), (0.0, 0.0)) == 0
    assert check([], lambda d, p: Point(d.x + p.x, d.y - p.y), points, None, Point(0.0, 1.0)) == 0


def test_arrays_in_state_and_delta() -> None:
    points = [Point(math.sin(n), math.cos(n * 3)) for n in range(500)]
    centres = np.array([[0.1, 0.2], [-0.5, 0.5], [0.9, -0.9]])
    steps = [step("map", lambda p: (nearest(p, STATE.value), p))]
    assert check(steps, put, points, centres, np.zeros((3, 3))) == 0
    assert check(steps, lambda d, e: put(d, e), points, centres, np.zeros((3, 3))) == 0


def test_arrays_inside_tuples() -> None:
    def fold(delta: Any, n: int) -> Any:
        counts, seen = delta
        counts[n % len(counts)] += 1
        return counts, seen + STATE.value[1][n % STATE.value[1].shape[0]]

    state = (3, np.array([5, 6, 7]))
    assert check([step("map", lambda n: n * STATE.value[0])], fold, list(range(40)), state, (np.zeros(4), 0)) == 0


def test_arrays_that_functions_captured() -> None:
    weights, places = np.array([0.5, 1.5, 2.5]), np.array([2, 0, 1])

    def weight(n: int) -> float:
        return weights[places[n % 3]] * STATE.value  # type: ignore[no-any-return]

    assert check([step("map", lambda n: weight(n))], lambda d, x: d + x, list(range(20)), 2.0, 0.0) == 0


def test_rows_of_arrays_are_passed_on() -> None:
    def first(row: Any) -> float:
        return row[0] - row[-1]  # type: ignore[no-any-return]

    steps = [step("map", lambda n: first(STATE.value[n % 2]))]
    assert check(steps, lambda d, x: d + x, list(range(9)), np.array([[1.0, 2.5], [4.0, 9.0]]), 0.0) == 0


def test_keys() -> None:
    steps = [
        step("key_by", lambda n: n % 3),
        step("map", lambda k, n: n * 10 + k, keyed=True),
        step("filter", lambda k, n: k != 1, keyed=True),
    ]
    assert check(steps, lambda d, pair: d + pair[0] * pair[1], list(range(30)), None, 0) == 0
    assert check([*steps, step("drop_key", keyed=True)], lambda d, n: d + n, list(range(30)), None, 0) == 0
    assert check([*steps, step("keys", keyed=True)], lambda d, k: d + k, list(range(30)), None, 0) == 0
    assert check([*steps, step("unkey", keyed=True)], lambda d, p: d + p[1], list(range(30)), None, 0) == 0


def test_what_goes_into_the_next_round() -> None:
    steps = [step("map", lambda n: n // 2 if n % 2 == 0 else 3 * n + 1), step("filter", lambda n: n != 1)]
    assert check(steps, lambda d, n: d + 1, list(range(1, 200)), None, 0, feedback=True) == 0


def test_builtins() -> None:
    assert check([step("map", abs)], max, list(range(-9, 5)), None, 0) == 0


def test_what_is_beyond_64_bits_is_done_in_python() -> None:
    numbers = [1, 2, 2**62, 3]
    steps = [step("map", lambda n: n * 4 % 1000)]
    assert check(steps, lambda d, n: d + n, numbers, None, 0) == 1
    assert check(steps, lambda d, n: d + n, numbers, None, 0, feedback=True) == 1


def test_only_the_side_that_is_taken_can_fail() -> None:
    """Short branches compute both sides; what overflows on the other side does not count."""
    limit = (2**63 - 1) // 3
    numbers = [2**62, 2**62 + 1, limit - 1, limit, limit + 1, limit + 2, -limit, -limit - 1, -limit - 2, -(2**63), 7, 8]
    steps = [step("map", lambda n: (n // 2 if n % 2 == 0 else 3 * n + 1) % 1000)]
    odd = [n for n in numbers if n % 2 and not -(2**63) <= 3 * n + 1 < 2**63]
    beyond = [n for n in numbers if n % 2 and not -(2**63) <= 3 * n < 2**63]
    assert odd
    assert check(steps, lambda d, n: d + n, numbers, None, 0) == len({*odd, *beyond})


def test_overflows_of_constants_are_known_early() -> None:
    ends = [2**63 - 1, 2**63 - 2, 2**63 - 8, 2**63 - 7, -(2**63), -(2**63) + 1, 0, -1]
    for function in (lambda n: (n + 7) % 10, lambda n: (7 + n) % 10, lambda n: n * 1 % 10, lambda n: n * 2 % 10):
        fails = sum(not -(2**63) <= value < 2**63 for value in map(before_modulo(function), ends))
        assert check([step("map", function)], lambda d, n: d + n, ends, None, 0) == fails


def before_modulo(function: Callable[[int], int]) -> Callable[[int], int]:
    """What a function of the test above takes the modulo of."""
    names = {7: lambda n: n + 7, 1: lambda n: n, 2: lambda n: n * 2}
    (constant,) = [each for each in function.__code__.co_consts if each in names]
    return names[constant]


def test_a_delta_beyond_64_bits_leaves_the_round_to_python() -> None:
    assert check([], lambda d, n: d + n, [2**62, 2**62, 5], None, 0) is None


def test_an_index_out_of_bounds_is_pythons_to_refuse() -> None:
    kernel = compiled([step("map", lambda n: STATE.value[n])], lambda d, n: d + n, INT, np.arange(3), 0)
    assert isinstance(kernel, LoopKernel)
    machine = MachineRound(kernel, machine_code(kernel.functions, kernel.loop), [np.array([0, -1, 3])], 3)
    rows: list[int] = []
    machine.run(np.arange(3), 0, lambda row, delta: rows.append(row))
    assert rows == [2]


def test_a_failure_after_a_write_leaves_the_round_to_python() -> None:
    def fold(delta: Any, n: int) -> Any:
        delta[0] += n
        delta[1] += STATE.value[n]
        return delta

    kernel = compiled([], fold, INT, np.arange(3), np.zeros(2, np.int64))
    assert isinstance(kernel, LoopKernel)
    machine = MachineRound(kernel, machine_code(kernel.functions, kernel.loop), [np.array([1, 7])], 2)
    assert machine.run(np.arange(3), np.zeros(2, np.int64), None) is None


def test_a_state_of_another_type_leaves_the_round_to_python() -> None:
    kernel = compiled([step("map", lambda n: n + STATE.value)], lambda d, n: d + n, INT, 1, 0)
    assert isinstance(kernel, LoopKernel)
    machine = MachineRound(kernel, machine_code(kernel.functions, kernel.loop), [np.arange(3)], 3)
    assert machine.run(1.5, 0, None) is None
    assert machine.run(2**70, 0, None) is None


@pytest.mark.parametrize(
    ("steps", "fold", "elements", "state", "delta", "reason"),
    [
        ([("map", lambda n: str(n))], lambda d, n: d, INT, 0, 0, "str"),
        ([("flat_map", lambda n: [n])], lambda d, n: d, INT, 0, 0, "flat_map has no kernel form inside a loop"),
        ([], lambda d, n: d + n, INT, 0, 0.5, None),
        ([], lambda d, n: d + n, FLOAT, 0, 0, "the local fold makes float of int"),
        ([], lambda d, n: np.zeros(3), INT, 0, np.zeros(3), "no kernel form"),
        ([("map", lambda n: n + STATE.value["a"])], lambda d, n: d, INT, {"a": 1}, 0, "not made of numbers and arrays"),
    ],
    ids=["text", "flat_map", "fits", "type", "new array", "dict"],
)
def test_refusals(steps: Any, fold: Any, elements: Type, state: Any, delta: Any, reason: str | None) -> None:
    found = compiled([step(*each) for each in steps], fold, elements, state, delta)
    if reason is None:
        assert isinstance(found, LoopKernel)
    else:
        assert isinstance(found, Refusal)
        assert reason in found.reason


def test_an_array_that_the_fold_did_not_get_is_refused() -> None:
    found = compiled([], lambda d, n: STATE.value, INT, np.zeros(3), np.zeros(3))
    assert isinstance(found, Refusal)
    assert "does not return the arrays it got" in found.reason


def test_a_variable_that_stands_for_two_arrays_is_refused() -> None:
    def fold(delta: Any, n: int) -> Any:
        chosen = delta[0]
        if n > 3:
            chosen = delta[1]
        chosen[0] += 1
        return delta

    found = compiled([], fold, INT, 0, (np.zeros(3), np.zeros(3)))
    assert isinstance(found, Refusal)
    assert "refers to one array and later to another" in found.reason


def test_the_state_cannot_be_written_to() -> None:
    def change(n: int) -> int:
        STATE.value[0] = n
        return n

    found = compiled([step("map", change)], lambda d, n: d + n, INT, np.arange(3), 0)
    assert isinstance(found, Refusal)
    assert "only the delta's own arrays" in found.reason


def test_flat_and_rebuilt_are_inverse() -> None:
    value = (1, Point(0.5, 2.0), (np.arange(3), True))
    type_ = of_numbers(value)
    assert type_ is not None
    leaves = flat(value, type_)
    assert leaves is not None
    assert repr(rebuilt(leaves, type_)) == repr(value)
    assert flat((1.0, *value[1:]), type_) is None
    assert isinstance(type_, Tuple)
    assert isinstance(type_.items[1], Record)
