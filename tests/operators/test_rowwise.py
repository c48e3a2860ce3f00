"""Row-wise operators on every engine."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

import morisot as mo
from tests.operators.engines import Runner

if TYPE_CHECKING:
    pass


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Order:
    customer: str
    amount: float
    note: str | None = None


def halve(n: int) -> float:
    return math.pow(n, 0.5) / 2


def test_map_column(runner: Runner) -> None:
    assert runner.run(lambda s: s.map(lambda n: n * 2 + 1), [1, 2, -3]) == [3, 5, -5]


@pytest.mark.unbounded_thorough
def test_map_by_functions_of_libraries(runner: Runner) -> None:
    """Their modules hold objects that cannot be pickled."""
    assert runner.run(lambda s: s.map(json.loads).map(copy.deepcopy), ['{"a": [1]}', "2"]) == [{"a": [1]}, 2]


class Scaling:
    """Its method uses a context, which exists only in the program."""

    def __init__(self, ctx: mo.StreamContext) -> None:
        self.ctx, self.table = ctx, {str(n): n for n in range(100_000)}

    def run(self) -> list[int]:
        looked_up = self.ctx.stream_iter(["1", "99999"]).map(lambda s: self.table[s] + hash(s) * 0, returns=int)
        return looked_up.shuffle().map(lambda n: self.table[str(n)] + hash(n) * 0, returns=int).collect()


def test_map_with_an_object_that_has_a_context_and_a_large_table(ctx: mo.StreamContext) -> None:
    assert sorted(Scaling(ctx).run()) == [1, 99999]


def test_map_stage(runner: Runner) -> None:
    assert runner.run(lambda s: s.map(lambda n: math.sin(n)), [1, 2]) == [math.sin(1), math.sin(2)]


def test_map_annotated_stage_keeps_its_type(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter([1, 4]).map(halve)
    assert str(stream.type) == "float"
    assert stream.map(lambda x: x + 1).collect() == [1.5, 2.0]


def test_map_to_tuples_and_records(runner: Runner) -> None:
    program = lambda s: s.map(lambda n: Point(n, n * n)).map(lambda p: (p.y, p.x, "t"))  # noqa: E731
    assert runner.run(program, [1, 2]) == [(1, 1, "t"), (4, 2, "t")]


def test_map_dataclass_through_a_stage(runner: Runner) -> None:
    orders = [Order("a", 1.5), Order("b", 2.5, "late")]
    program = lambda s: s.map(lambda o: Order(o.customer + "!", math.floor(o.amount) + 0.0, o.note), returns=Order)  # noqa: E731
    assert runner.run(program, orders) == [Order("a!", 1.0), Order("b!", 2.0, "late")]


def test_map_any_object_flows(runner: Runner) -> None:
    assert runner.run(lambda s: s.map(lambda n: {n, n + 1}).map(lambda s: sorted(s)), [1, 5]) == [[1, 2], [5, 6]]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, True, "x", None, b"b"],
        [None, 1, None],
        [(1, "a"), (2, None)],
        [[1, 2], [], [3]],
        [{"a": 1}, {}, {"b": 2, "c": 3}],
        [[(1, "a")], [(2, "b"), (3, "c")]],
        [Point(1, 2), Point(3, 4)],
        [[Order("a", 1.0)], []],
        [(Point(1, 2), (3, "x")), (Point(5, 6), (7, "y"))],
        ["", "ß😀", "\x1c", "e\u0301", "\ud800"],
        [2**63, -1],
        [float("inf"), -0.0],
    ],
    ids=str,
)
def test_elements_of_all_types_survive(runner: Runner, values: list[Any]) -> None:
    result = runner.run(lambda s: s.map(lambda x: x), values)
    assert result == values
    assert list(map(type, result)) == list(map(type, values))
    assert runner.run(lambda s: s.filter(lambda x: [x] != None), values[:0] or values) == values


def test_filter(runner: Runner) -> None:
    assert runner.run(lambda s: s.filter(lambda n: n % 3 == 1), list(range(-4, 8))) == [-2, 1, 4, 7]


def test_filter_by_truth_of_a_value(runner: Runner) -> None:
    assert runner.run(lambda s: s.filter(lambda t: t.strip()), ["a", " ", "", "b"]) == ["a", "b"]


def test_filter_by_truth_of_objects(runner: Runner) -> None:
    """Only Python knows it."""
    assert runner.run(lambda s: s.filter(lambda e: e), [{1}, set(), {2, 3}]) == [{1}, {2, 3}]
    (form,) = mo.StreamContext(engine="reference").stream_iter([{1}]).filter(lambda e: e).forms()
    assert (form.form, form.reason) == ("stage", "the truth of a value of type object has no column form")


def test_flat_map_column(runner: Runner) -> None:
    assert runner.run(lambda s: s.flat_map(lambda t: t.split()), ["a b", "", " c "]) == ["a", "b", "c"]


def test_flat_map_stage(runner: Runner) -> None:
    assert runner.run(lambda s: s.flat_map(lambda n: range(n)), [2, 0, 3]) == [0, 1, 0, 1, 2]


def test_more_flat_maps_than_python_nests_loops(bounded_runner: Runner) -> None:
    def program(stream: Any) -> Any:
        for _ in range(40):
            stream = stream.flat_map(lambda n: (n + step for step in (1,)))
        return stream

    assert bounded_runner.run(program, [1, 2]) == [41, 42]


def test_flat_map_of_tuples(runner: Runner) -> None:
    assert runner.run(lambda s: s.flat_map(lambda n: [(n, "a"), (n + 1, "b")]), [1]) == [(1, "a"), (2, "b")]


def test_filter_map(runner: Runner) -> None:
    assert runner.run(lambda s: s.filter_map(lambda n: n * 2 if n % 2 else None), [1, 2, 3]) == [2, 6]


def test_filter_map_of_tuples(runner: Runner) -> None:
    assert runner.run(lambda s: s.filter_map(lambda n: (n, "x") if n > 1 else None), [1, 2]) == [(2, "x")]


def test_filter_map_stage(runner: Runner) -> None:
    program = lambda s: s.filter_map(lambda t: m.group() if (m := re.search(r"\d+", t)) else None)  # noqa: E731
    assert runner.run(program, ["a1", "b", "22c"]) == ["1", "22"]


def test_flatten(runner: Runner) -> None:
    assert runner.run(lambda s: s.flatten(), [[], [1, 2], [3], []]) == [1, 2, 3]


def test_flatten_of_records(runner: Runner) -> None:
    assert runner.run(lambda s: s.flatten(), [[Point(1, 2)], [Point(3, 4)]]) == [Point(1, 2), Point(3, 4)]


def test_inspect_leaves_the_stream_alone(runner: Runner) -> None:
    assert runner.run(lambda s: s.inspect(lambda n: None).map(lambda n: n + 1), [1, 2]) == [2, 3]


def test_inspect_sees_every_element_once(make_context: Any, tmp_path: Any) -> None:
    for engine in ("reference", "bounded"):
        log = tmp_path / engine
        log.touch()

        def note(n: int, file: str = str(log)) -> None:
            with open(file, "a") as lines:
                lines.write(f"{n}\n")

        make_context(engine).stream_iter([1, 2, 3]).inspect(note).filter(lambda n: n > 1).collect()
        assert sorted(log.read_text().split()) == ["1", "2", "3"]


def test_map_memo(runner: Runner) -> None:
    assert runner.run(lambda s: s.map_memo(lambda n: math.sqrt(n), 2), [4, 9, 4, 16]) == [2.0, 3.0, 2.0, 4.0]


def test_map_memo_asks_once_per_key(make_context: Any, tmp_path: Any) -> None:
    for engine in ("reference", "bounded"):
        log = tmp_path / engine
        log.touch()

        def slow(n: int, file: str = str(log)) -> int:
            with open(file, "a") as lines:
                lines.write(f"{n}\n")
            return n // 10

        context = make_context(engine)
        context.config = mo.Config(parallelism=1)
        stream = context.stream_iter([10, 11, 12, 20]).map_memo_by(slow, lambda n: n // 10)
        assert stream.collect() == [1, 1, 1, 2]
        assert len(log.read_text().split()) <= 3  # once per key and worker


def test_map_async_keeps_order(runner: Runner) -> None:
    async def later(n: int) -> int:
        import asyncio

        await asyncio.sleep(0.02 / n)
        return n * 10

    assert runner.run(lambda s: s.map_async(later), [1, 2, 3, 4]) == [10, 20, 30, 40]


def test_keyed_versions(runner: Runner) -> None:
    program = lambda s: (  # noqa: E731
        s.group_by(lambda n: n % 2)
        .map(lambda k, n: n * 10 + k)
        .filter(lambda k, n: n > 20)
        .flat_map(lambda k, n: [n, -n])
        .filter_map(lambda k, n: (n, k) if n > 0 else None)
        .inspect(lambda k, v: None)
        .map(lambda k, v: [v[0], v[1]])
        .flatten()
    )
    assert sorted(runner.run(program, [1, 2, 3])) == [(1, 1), (1, 31)]


def test_keyed_stage_versions(runner: Runner) -> None:
    program = lambda s: (  # noqa: E731
        s.group_by(lambda n: n % 2)
        .map(lambda k, n: math.floor(n) * 10)
        .filter(lambda k, n: math.floor(n) > 10)
        .flat_map(lambda k, n: (x for x in (n, k)))
        .filter_map(lambda k, n: str(n) if math.floor(n) > 1 else None)
    )
    assert sorted(runner.run(program, [1, 2, 3])) == [(0, "20"), (1, "30")]


def test_captured_values_are_those_of_when_the_plan_was_built(ctx: mo.StreamContext) -> None:
    factor = 2
    column = ctx.stream_iter([1, 2]).map(lambda n: n * factor)
    stage = ctx.stream_iter([1, 2]).map(lambda n: math.floor(n) * factor)
    factor = 3
    assert column.collect() == stage.collect() == [2, 4]


def test_column_between_stages_is_fused_and_right(runner: Runner) -> None:
    program = lambda s: s.map(lambda n: math.floor(n), returns=int).map(lambda n: n + 1).map(lambda n: math.sqrt(n))  # noqa: E731
    assert runner.run(program, [3, 8]) == [2.0, 3.0]


def test_overflow_on_the_way_is_repaired_by_python(runner: Runner) -> None:
    assert runner.run(lambda s: s.map(lambda n: n * 4 - n * 3), [2**62, 1]) == [2**62, 1]


def test_result_beyond_64_bits_is_an_overflow(bounded_runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match="beyond 64 bits") as caught:
        bounded_runner.run(lambda s: s.map(lambda n: n * 4, returns=int), [2**62])
    assert isinstance(caught.value.__cause__, OverflowError)


def _scored(text: str) -> float:
    return cast(float, eval(text))


def test_the_type_of_a_function_in_python_is_inferred(runner: Runner) -> None:
    def program(s: mo.Stream[Any]) -> mo.Stream[Any]:
        hashed = s.map(lambda p: (p[0], hash(p[0]) == hash(p[0] + ""), hashlib.md5(p[0].encode()).hexdigest()[:4]))
        assert str(hashed.type) == "tuple[str, bool, str]"
        return hashed.filter(lambda p: p[1]).map(lambda p: p[0] + p[2])

    assert runner.run(program, [("a", 1), ("b", 2)]) == ["a0cc1", "b92eb"]


def test_inferred_types_of_row_wise_operators(ctx: mo.StreamContext) -> None:
    def halves(text: str):  # type: ignore[no-untyped-def]
        yield text, zlib.crc32(text.encode())

    texts = ctx.stream_iter(["1.5", "2"])
    assert str(texts.flat_map(halves).type) == "tuple[str, int]"
    assert str(texts.filter_map(lambda t: (t, hash(t)) if t.isdigit() else None).type) == "tuple[str, int]"
    assert str(texts.map_memo(lambda t: hash(t), 10).type) == "int"
    assert str(texts.group_by(lambda t: hash(t)).type) == "int → str"
    assert str(texts.map(lambda t: (t, _scored(t))).type) == "tuple[str, float]"
    assert str(texts.map(lambda t: (t, json.loads(t))).type) == "tuple[str, object]"
    assert str(texts.rich_map(0, lambda n, t: (n + 1, (t, hash(t)))).type) == "tuple[str, int]"
    assert texts.map(json.dumps).collect() == ['"1.5"', '"2"']


def test_an_inferred_int_beyond_64_bits_is_an_error_of_the_element(runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match="is beyond 64 bits"):
        runner.run(lambda s: s.map(lambda t: (t, int(t) + hash("") % 1)), ["1", "9" * 30])
    assert str(mo.StreamContext(engine="reference").stream_iter([30]).map(math.factorial).type) == "object"


def test_a_result_that_does_not_fit_the_annotation_of_an_inner_function(bounded_runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match=r"2 \(int\) is not of the type float.*returns=object"):
        bounded_runner.run(lambda s: s.map(lambda t: (t, _scored(t))), ["1.5", "2"])
    kept = lambda s: s.map(lambda t: (t, _scored(t)), returns=object)  # noqa: E731
    assert bounded_runner.run(kept, ["1.5", "2"]) == [("1.5", 1.5), ("2", 2)]
