"""What Renoir gives, case by case: the facts of renoir.jsonl, on every engine.

Functions are text in the cases. Those with their source known are compiled to columns where they can be; without it
every one of them runs in Python, in a stage: both must give what Renoir gives.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.cases.functions import function
from tests.operators.engines import Runner, last_by_key

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "cases" / "renoir.jsonl"
CASES = {case["name"]: case for case in map(json.loads, (HERE / "renoir.jsonl").read_text().splitlines())}

Params = dict[str, Any]

ON_ANY_INPUT: dict[str, Callable[[Any, Params], Any]] = {
    "filter": lambda s, p: s.filter(p["p"]),
    "filter_map": lambda s, p: s.filter_map(p["f"]),
    "flat_map": lambda s, p: s.flat_map(p["f"]),
    "flatten": lambda s, p: s.flatten(),
    "group_by": lambda s, p: s.group_by(p["key"]),
    "group_by.filter": lambda s, p: s.group_by(p["key"]).filter(p["p"]),
    "group_by.flat_map": lambda s, p: s.group_by(p["key"]).flat_map(p["f"]),
    "group_by.flatten": lambda s, p: s.group_by(p["key"]).flatten(),
    "group_by.map": lambda s, p: s.group_by(p["key"]).map(p["f"]),
    "group_by.map.flatten": lambda s, p: s.group_by(p["key"]).map(p["f"]).flatten(),
    "group_by_count": lambda s, p: s.group_by_count(p["key"]),
    "shuffle.key_by": lambda s, p: s.shuffle().key_by(p["key"]),
}
ON_BOUNDED_INPUT: dict[str, Callable[[Any, Params], Any]] = {
    "fold": lambda s, p: s.fold(p["init"], p["f"]),
    "group_by.fold": lambda s, p: s.group_by(p["key"]).fold(p["init"], p["f"]),
    "group_by.fold(list)": lambda s, p: s.group_by(p["key"]).fold([], lambda seen, i: [*seen, i]),
    "group_by.fold_scan": lambda s, p: s.group_by(p["key"]).fold_scan(p["init"], lambda a, x: a + x),
    "group_by.map.reduce": lambda s, p: s.group_by(p["key"]).map(p["f"]).reduce(p["g"]),
    "group_by.map.rich_map": lambda s, p: s.group_by(p["key"]).map(p["f"]).rich_map(p["state"], p["g"]),
    "group_by.rich_filter_map.drop_key": lambda s, p: (
        s.group_by(p["key"]).rich_filter_map(p["state"], p["g"]).drop_key()
    ),
    "group_by.rich_flat_map": lambda s, p: s.group_by(p["key"]).rich_flat_map(p["state"], p["g"]),
    "group_by_avg": lambda s, p: s.group_by_avg(p["key"], p["value"]),
    "group_by_fold": lambda s, p: s.group_by_fold(p["key"], p["init"], p["local"], p["global"]),
    "group_by_max_element": lambda s, p: s.group_by_max_element(p["key"], p["value"]),
    "group_by_min_element": lambda s, p: s.group_by_min_element(p["key"], p["value"]),
    "group_by_reduce": lambda s, p: s.group_by_reduce(p["key"], lambda a, b: a + b),
    "group_by_sum": lambda s, p: s.group_by_sum(p["key"], p["value"]),
    "limit": lambda s, p: s.limit(p["limit"], p["offset"]),
    "map(steps).reduce_assoc(max)": lambda s, p: s.map(steps_of).reduce_assoc(max),
    "map.group_by_reduce": lambda s, p: s.map(p["f"]).group_by_reduce(p["key"], p["g"]),
    "reduce": lambda s, p: s.reduce(p["f"]),
    "reduce_assoc": lambda s, p: s.reduce_assoc(p["f"]),
    "reduce_scan": lambda s, p: (
        s.map(p["first"]).reduce_scan(p["reduce"]).map(lambda pair: (pair[0][0], pair[1][0], pair[1][1]))
    ),
    "rich_filter_map": lambda s, p: s.rich_filter_map(p["state"], p["g"]),
    "rich_flat_map": lambda s, p: s.rich_flat_map(p["state"], p["g"]),
    "rich_map": lambda s, p: s.rich_map(p["state"], p["g"]),
    "shuffle.fold": lambda s, p: s.shuffle().fold(p["init"], p["f"]),
    "shuffle.fold_assoc": lambda s, p: s.shuffle().fold_assoc(p["init"], p["local"], p["global"]),
    "shuffle.group_by.fold": lambda s, p: s.shuffle().group_by(p["key"]).fold(p["init"], p["f"]),
    "shuffle.group_by_fold": lambda s, p: s.shuffle().group_by_fold(p["key"], p["init"], p["local"], p["global"]),
    "shuffle.reduce": lambda s, p: s.shuffle().reduce(p["f"]),
    "sorted_limit_by": lambda s, p: s.sorted_limit_by(lambda n: n, p["limit"], p["offset"]),
    "unique_assoc": lambda s, p: s.unique(),
}
ON_WINDOWS: dict[str, Callable[[Any, Params], Any]] = {
    "window_all(count sliding 3/2).first": lambda s, p: s.window_all(count(p)).first(),
    "window_all(count sliding 3/2).sum": lambda s, p: s.window_all(count(p)).sum(),
    "group_by.window(count sliding 3/2).first": lambda s, p: s.group_by(p["key"]).window(count(p)).first(),
    "group_by.window(count sliding 3/2).fold_sum": lambda s, p: s.group_by(p["key"]).window(count(p)).fold(0, add),
    "group_by.window(count sliding 3/2).sum": lambda s, p: s.group_by(p["key"]).window(count(p)).sum(),
    "group_by.window(count sliding 3/2).min": lambda s, p: s.group_by(p["key"]).window(count(p)).min(),
    "group_by.window(count sliding 3/2).max": lambda s, p: s.group_by(p["key"]).window(count(p)).max(),
    "group_by.window(count sliding 3/2).product": lambda s, p: s.group_by(p["key"]).window(count(p)).fold(1, multiply),
    "window_all(tumbling 2).sum": lambda s, p: s.window_all(mo.CountWindow.tumbling(p["size"])).sum(),
    "group_by.window(tumbling 2).fold product": lambda s, p: (
        s.group_by(p["key"]).window(mo.CountWindow.tumbling(p["size"])).fold(p["init"], multiply)
    ),
    "count new(4,1,exact)": lambda s, p: listed(s.window_all(count(p))),
    "count new(4,1,non-exact)": lambda s, p: listed(s.window_all(count(p))),
    "count new(2,2,non-exact)": lambda s, p: listed(s.window_all(count(p))),
    "all": lambda s, p: listed(s.window_all(mo.AllWindow())),
}
"""Windows of elements without timestamps; tests/cases/test_renoir_windows.py has the others."""


def count(params: Params) -> mo.CountWindow:
    return mo.CountWindow.sliding(params["size"], params["slide"], params["exact"])


def listed(windows: Any) -> Any:
    return windows.map(lambda window: window)


def add(left: int, right: int) -> int:
    return left + right


def multiply(left: int, right: int) -> int:
    return left * right


ON_BOUNDED_INPUT |= ON_WINDOWS
PROGRAMS = ON_ANY_INPUT | ON_BOUNDED_INPUT
"""What a case's operator is in Morisot."""

RUNNING = {"group_by_count"}
"""Operators that give running values on unbounded input: the last one of each key is compared."""

OWN_TEST = {
    "collect_count_doc": "test_collect_count",
    "collect_count_empty": "test_collect_count",
    "csv_with_header": "test_csv",
    "csv_without_header": "test_csv",
    "iterate_doc": "test_iterate_doc",
    "join_in_replay_loop": "test_join_in_a_loop",
    "iterate_primes": "test_iterate_primes",
    "iterate_with_shuffle": "test_iterate_with_state",
    "keyed_fold_per_epoch": "test_keyed_fold_per_round",
    "parallel_iterator_partitioned": "test_parallel_iterator",
    "reorder": "test_reorder",
    "replay_nested_no_shuffle": "test_replay_nested",
    "replay_nested_shuffle_both": "test_replay_nested",
    "replay_nested_shuffle_inner": "test_replay_nested",
    "replay_nested_shuffle_outer": "test_replay_nested",
    "replay_with_shuffle": "test_replay_with_state",
    "word_count": "test_word_count",
    "zip_epoch_reset": "test_zip_per_round",
}
"""Cases that are about a source, a sink or a loop."""

OF_TIME = [
    "count_window_timestamps",
    "session_window_processing_time",
    "event_window_5_4",
    "event_tumbling3_first_0",
    "event_late_after_recycle",
    "event_close_is_strict",
    "event_hopping_2_5",
    "event_untimestamped",
    "window_all_join_aligned_disabled",
    "window_join_one_side_empty",
    "transaction_commit_discard",
    "transaction_commit_after_end",
]
"""Cases of windows with timestamps: tests/cases/test_renoir_windows.py."""

IN_GRAPHS = [
    "route_first_match",
    "merge_disjoint",
    "merge_watermarks",
    "zip_unequal_shuffled",
    "zip_unequal_doc",
    "zip_timestamps",
    "broadcast_sum",
    "cache_replay",
    "cache_many_to_many",
    "cache_read_before_run",
    "cache_doc",
    "join_shortcut",
    "left_join_shortcut",
    "outer_join_shortcut",
    "join_hash_sort_merge_left",
    "join_hash_hash_outer1",
    "join_hash_sort_merge_outer1",
    "join_hash_sort_merge_outer2",
    "join_hash_hash_inner_big",
    "join_hash_sort_merge_inner_big",
    "join_doc",
    "left_join_doc",
    "join_on_timestamped_stream",
    "interval_join_keyed",
]
"""Cases of several streams, which test_renoir_graphs.py has."""

NOT_YET: dict[str, str] = {}
"""Which family will bring which cases."""

DECIDED_OTHERWISE = {
    "limit_offset_doc": "Renoir's limit counts in each replica, ours in the whole stream; here it had one replica",
    "sorted_limit": "as limit_offset_doc: the order is that of the whole stream",
    "rich_map_prefix_sum_doc": "Renoir has a state in each replica, ours sees the whole stream; it had one replica",
    "rich_flat_map_pairs_doc": "as rich_map_prefix_sum_doc",
    "reduce_scan_sum_count": "the first and the second map are maps before and after",
    "keyed_fold_scan": "our fold takes no key; the pairs (element, result) are what the case's map makes",
    "limit_offset_beyond_end": "as limit_offset_doc",
    "group_by_fold_string": "Renoir's order within a key is that of one replica; ours is the order of the stream",
    "group_by_reduce_string": "as group_by_fold_string",
    "word_count": "counted with group_by_count; Renoir's program folds",
}
"""Where design/api.md gives another reason, or another program, for the same figures."""


def steps_of(n: int) -> tuple[int, int]:
    """How long the Collatz sequence takes from n to 1, and n; from 1 it takes three steps."""
    steps, number = 1, n // 2 if n % 2 == 0 else 3 * n + 1
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return steps, n


def spread(value: Any) -> Any:
    """A case's value in full: `{"range": [0, 3]}` is [0, 1, 2]."""
    return list(range(*value["range"])) if isinstance(value, dict) and "range" in value else value


def parameters(name: str, with_source: bool) -> Params:
    """A case's parameters, its texts of lambdas made functions."""
    return {
        key: function(value, f"<{name}.{key}>" if with_source else None)
        if isinstance(value, str) and value.startswith("lambda")
        else value
        for key, value in CASES[name]["params"].items()
    }


def plain(value: Any) -> Any:
    """The value as JSON has it: tuples are lists."""
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def in_any_order(values: Iterable[Any]) -> list[Any]:
    return sorted(plain(list(values)), key=repr)


def check(name: str, result: list[Any]) -> None:
    """The result is what the case expects, in the order it expects."""
    case = CASES[name]
    expected = spread(case["expected"])
    if case["params"].get("flatten_row"):
        result = [(key, *row) for key, row in result]
    if case["params"].get("sort_inner"):
        result = [sorted_inside(element) for element in result]
    if case["order"] == "exact":
        assert plain(result) == expected
    else:
        assert in_any_order(result) == in_any_order(expected)


def sorted_inside(element: Any) -> Any:
    return (element[0], sorted(element[1])) if isinstance(element, tuple) else sorted(element)


def covered() -> list[str]:
    later = {name for names in NOT_YET.values() for name in names.split()}
    elsewhere = {*OWN_TEST, *OF_TIME, *IN_GRAPHS}
    return [name for name in CASES if name not in elsewhere and name not in later]


def runs() -> Iterable[Any]:
    """Every case on every engine its operators run on, and on Spark without the functions' source too."""
    for name in covered():
        yield pytest.param(name, "reference", True, id=f"{name}-reference")
        yield pytest.param(name, "bounded", True, id=f"{name}-bounded", marks=pytest.mark.jvm)
        if "lambda" in str(CASES[name]["params"]):
            yield pytest.param(name, "bounded", False, id=f"{name}-bounded-stage", marks=pytest.mark.jvm)
        if CASES[name]["operator"] in ON_ANY_INPUT:
            yield pytest.param(name, "driver", True, id=f"{name}-driver")
            yield pytest.param(name, "unbounded", True, id=f"{name}-unbounded", marks=pytest.mark.jvm)


@pytest.mark.parametrize(("name", "engine", "with_source"), list(runs()))
def test_case(name: str, engine: str, with_source: bool, make_context: Any, chance: random.Random) -> None:
    operator = CASES[name]["operator"]
    params = parameters(name, with_source)
    runner = Runner(engine, make_context, chance)
    result = runner.run(lambda stream: PROGRAMS[operator](stream, params), spread(CASES[name]["input"]))
    if not runner.is_bounded and operator in RUNNING:
        result = last_by_key(result)
    check(name, result)


@pytest.fixture(params=["reference", pytest.param("bounded", marks=pytest.mark.jvm)])
def ctx(request: pytest.FixtureRequest, make_context: Any) -> mo.StreamContext:
    return make_context(request.param)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["collect_count_doc", "collect_count_empty"])
def test_collect_count(name: str, ctx: mo.StreamContext) -> None:
    count = ctx.stream_iter(CASES[name]["input"]).collect_count()
    ctx.execute()
    assert count.get() == CASES[name]["expected"]


class Row(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize("terminator", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("name", ["csv_without_header", "csv_with_header"])
def test_csv(name: str, terminator: str, ctx: mo.StreamContext, tmp_path: Path) -> None:
    case = CASES[name]
    assert terminator in case["input"]["terminators"]
    file = tmp_path / "rows.csv"
    file.write_text("".join(line + terminator for line in case["input"]["lines"]), newline="")
    rows = ctx.stream_csv(file, Row, header=case["params"]["has_headers"]).collect()
    expected = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in case["expected"]]
    assert sorted(rows) == expected


def test_csv_of_any_length(ctx: mo.StreamContext, tmp_path: Path) -> None:
    """Every record is read once, whatever their number: the parameter `record_counts` of csv_without_header."""
    for count in range(100) if ctx.config.engine == "reference" else (0, 1, 2, 99):
        file = tmp_path / f"{count}.csv"
        file.write_text("".join(f"{n},{n + 1}\n" for n in range(count)))
        assert ctx.stream_csv(file, Row, header=False).collect() == [Row(n, n + 1) for n in range(count)]


def test_parallel_iterator(ctx: mo.StreamContext) -> None:
    (start, stop) = CASES["parallel_iterator_partitioned"]["input"]["range"]

    def chunk(instance: int, instances: int) -> range:
        size = math.ceil((stop - start) / instances)
        return range(start + size * instance, min(stop, start + size * (instance + 1)))

    check("parallel_iterator_partitioned", ctx.stream_par_iter(chunk).collect())


def test_reorder(ctx: mo.StreamContext) -> None:
    """Bounded input has no watermarks: all of it is there, and all of it is put in order."""
    elements = [(each["v"], each["ts"]) for each in CASES["reorder"]["input"] if "v" in each]
    expected = [(each["v"], each["ts"]) for each in CASES["reorder"]["expected"] if "v" in each]
    assert ctx.stream_iter(elements).add_timestamps(lambda pair: pair[1]).reorder().collect() == expected


def test_word_count(ctx: mo.StreamContext, tmp_path: Path) -> None:
    case = CASES["word_count"]
    file = tmp_path / "words.txt"
    file.write_text("".join(f"{line}\n" for line in case["input"]))
    words = ctx.stream_file(file).flat_map(lambda line: line.lower().split())
    check("word_count", words.group_by_count(lambda word: word).collect())


def added(left: int, right: int) -> int:
    return left + right


def always(state: Any) -> bool:
    return True


def check_loop(name: str, results: tuple[Any, Any]) -> None:
    """The state and the elements are what the case expects, as far as it says."""
    expected = CASES[name]["expected"]
    found = {"state": results[0].collect(), "items": results[1].collect()}
    for part, values in expected.items():
        assert in_any_order(found[part]) == in_any_order(values)


def test_iterate_doc(ctx: mo.StreamContext) -> None:
    case = CASES["iterate_doc"]
    numbers = ctx.stream_iter(case["input"])
    rounds, start = case["params"]["iterations"], case["params"]["init"]
    loop = numbers.iterate(rounds, start, lambda s, state: s.map(lambda n: n + 10), added, added, always, delta=0)
    check_loop("iterate_doc", loop)


def test_iterate_with_state(ctx: mo.StreamContext) -> None:
    case = CASES["iterate_with_shuffle"]
    loop = ctx.stream_iter(case["input"]).iterate(
        case["params"]["iterations"],
        case["params"]["init"],
        lambda s, state: s.shuffle().map(lambda x: x + state.value),
        added,
        added,
        always,
        delta=0,
    )
    check_loop("iterate_with_shuffle", loop)


def test_iterate_primes(ctx: mo.StreamContext) -> None:
    """The condition changes the state: here a list, because an int cannot be changed."""
    case = CASES["iterate_primes"]

    def next_number(state: list[int]) -> bool:
        state[0] += 1
        return True

    loop = ctx.stream_iter(spread(case["input"])).iterate(
        case["params"]["iterations"],
        [case["params"]["init"]],
        lambda s, state: s.filter(lambda x: x == state.value[0] or x % state.value[0] != 0),
        lambda delta, x: delta,
        lambda state, delta: state,
        next_number,
        delta=0,
    )
    check_loop("iterate_primes", loop)


def test_replay_with_state(ctx: mo.StreamContext) -> None:
    case = CASES["replay_with_shuffle"]

    def minus_one(state: list[int]) -> bool:
        state[0] -= 1
        return True

    states = ctx.stream_iter(case["input"]).replay(
        case["params"]["iterations"],
        [case["params"]["init"]],
        lambda s, state: s.shuffle().map(lambda x: x * state.value[0]),
        added,
        lambda state, delta: [state[0] + delta],
        minus_one,
        delta=0,
    )
    assert [number for (number,) in states.collect()] == case["expected"]


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("replay_nested")])
def test_replay_nested(name: str, ctx: mo.StreamContext) -> None:
    outer, inner = CASES[name]["params"]["iterations"]
    shuffles = name.rpartition("_")[2]

    def body(stream: Any, state: Any) -> Any:
        moved = stream.shuffle() if shuffles in ("outer", "both") else stream
        return moved.replay(inner, 0, innermost, added, added, always, delta=0)

    def innermost(stream: Any, state: Any) -> Any:
        return (stream.shuffle() if shuffles in ("inner", "both") else stream).reduce_assoc(added)

    check(name, ctx.stream_iter(CASES[name]["input"]).replay(outer, 0, body, added, added, always, delta=0).collect())


def test_join_in_a_loop(ctx: mo.StreamContext) -> None:
    """All pairs of a number and three times another of the same parity, summed up with the parity."""
    case = CASES["join_in_replay_loop"]

    def body(stream: Any, state: Any) -> Any:
        left, right = stream.split(2)
        pairs = left.join(right.shuffle().map(lambda n: n * 3), lambda n: n % 2, lambda n: n % 2)
        return pairs.unkey().map(lambda found: found[0] + found[1][0] + found[1][1])

    numbers = ctx.stream_iter(spread(case["input"]))
    result = numbers.replay(case["params"]["iterations"], 0, body, added, added, always, delta=0)
    check("join_in_replay_loop", result.collect())


def by_round(items: list[Any]) -> list[tuple[int, Any]]:
    """Items with the number of their round: Renoir's `flush_restart` ends one."""
    number, placed = 0, []
    for item in items:
        if isinstance(item, dict):
            number += 1
        else:
            placed.append((number, tuple(item) if isinstance(item, list) else item))
    return placed


def next_round(state: list[Any]) -> bool:
    state[0] += 1
    return True


def test_keyed_fold_per_round(ctx: mo.StreamContext) -> None:
    """A fold inside a loop starts again in every round."""
    case = CASES["keyed_fold_per_epoch"]

    def body(stream: Any, state: Any) -> Any:
        now = stream.filter(lambda placed: placed[0] == state.value[0])
        return now.group_by(lambda placed: placed[1][0]).fold(0, lambda total, placed: total + placed[1][1])

    states = ctx.stream_iter(by_round(case["input"])).replay(
        2,
        [0, []],
        body,
        lambda delta, pair: [*delta, list(pair)],
        lambda state, delta: [state[0], state[1] + delta],
        next_round,
        delta=[],
    )
    ((_, results),) = states.collect()
    assert results == [item for item in case["expected"] if not isinstance(item, dict)]


def test_zip_per_round(ctx: mo.StreamContext) -> None:
    """What a round leaves over is never paired with the next one."""
    case = CASES["zip_epoch_reset"]
    right = ctx.stream_iter(by_round(case["input"]["right"]))

    def body(stream: Any, state: Any) -> Any:
        pairs = stream.filter(lambda placed: placed[0] == state.value[0]).zip(
            right.filter(lambda placed: placed[0] == state.value[0])
        )
        return pairs.map(lambda pair: (pair[0][1], pair[1][1]))

    states = ctx.stream_iter(by_round(case["input"]["left"])).replay(
        2,
        [0, []],
        body,
        lambda delta, pair: [*delta, list(pair)],
        lambda state, delta: [state[0], state[1] + delta],
        next_round,
        delta=[],
    )
    ((_, results),) = states.collect()
    assert results == [item for item in case["expected"] if not isinstance(item, dict)]


def test_functions_are_compiled_if_their_source_is_known() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter([1])
    for with_source, form in ((True, "column"), (False, "stage")):
        program = PROGRAMS["group_by.map"](stream, parameters("map_keyed_doc", with_source))
        assert {record.form for record in program.forms()} == {form}


def test_every_case_is_covered_or_waits_for_a_family() -> None:
    later = [name for names in NOT_YET.values() for name in names.split()]
    named = [*covered(), *OWN_TEST, *OF_TIME, *IN_GRAPHS, *later]
    assert sorted(named) == sorted(CASES), "a case is in two tests, or a name is misspelt"
    assert {CASES[name]["operator"] for name in covered()} == set(PROGRAMS)
    assert set(OWN_TEST.values()) <= set(globals())
    graphs = (HERE / "test_renoir_graphs.py").read_text()
    assert [name for name in IN_GRAPHS if f'"{name}"' not in graphs] == []
    assert set(DECIDED_OTHERWISE) <= set(covered()) | set(OWN_TEST)


def test_the_copy_holds_the_shared_facts() -> None:
    if not SHARED.exists():
        pytest.skip(f"the shared cases do not lie beside the project ({SHARED}); the copy is what the tests use")
    shared = [json.loads(line) for line in SHARED.read_text().splitlines()]
    assert [{field: case.get(field) for field in CASES[case["name"]]} for case in shared] == list(CASES.values())
