"""What WindFlow gives for joins by time, splits and merges: cases of windflow.jsonl by name."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import morisot as mo

HERE = Path(__file__).parent
CASES = {case["name"]: case for case in map(json.loads, (HERE / "windflow.jsonl").read_text().splitlines())}


@pytest.fixture(params=["reference", pytest.param("bounded", marks=pytest.mark.jvm)])
def ctx(request: pytest.FixtureRequest, make_context: Any) -> mo.StreamContext:
    return make_context(request.param)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["wf_interval_join_-1_2", "wf_interval_join_0_0", "wf_interval_join_-2_-1"])
def test_interval_join(name: str, ctx: mo.StreamContext) -> None:
    """WindFlow adds its lower bound, which is negative for the time before; ours is subtracted."""
    case = CASES[name]
    left, right = (
        ctx.stream_iter([(value, at) for value, at in case["input"][side]]).add_timestamps(lambda pair: pair[1])
        for side in ("A", "B")
    )
    joined = left.interval_join(right, -case["params"]["lower_us"], case["params"]["upper_us"])
    values = joined.map(lambda pair: (pair[0][0], pair[1][0])).collect()
    assert sorted(map(list, values)) == sorted(case["expected"])


def test_multicast_split(ctx: mo.StreamContext) -> None:
    case = CASES["wf_split_multicast"]

    def branches(value: int) -> list[int]:
        if value % 3 == 0:
            return [0, 1]
        return [1] if value % 3 == 1 else []

    streams = ctx.stream_iter(case["input"]).split_by(branches, 2)
    assert {str(place): stream.collect() for place, stream in enumerate(streams)} == case["expected"]


def test_results_do_not_depend_on_parallelism_and_batches(ctx: mo.StreamContext, chance: random.Random) -> None:
    """The case wf_metamorphic: upstream's programs assert one sum for random parallelism and batch sizes."""
    assert CASES["wf_metamorphic"]["expected"] == {"same_global_sum_in_every_run": True}
    sums = set()
    for _ in range(3):

        def placed(stream: Any) -> Any:
            return stream.parallelism(chance.randint(1, 5)).batch_mode(mo.BatchMode.fixed(chance.randint(1, 10)))

        numbers = placed(ctx.stream_iter(range(100)))
        low, high = placed(numbers.filter(lambda n: n % 3 != 1)).split_by(lambda n: [0, 1] if n % 5 == 0 else n % 2, 2)
        merged = placed(low.map(lambda n: n * 2)).merge(placed(high).map(lambda n: n + 1))
        keyed = placed(merged).group_by(lambda n: n % 7).rich_map(0, lambda total, key, n: (total + n, total + n))
        sums.add(tuple(keyed.drop_key().reduce_assoc(lambda a, b: a + b).collect()))
    assert len(sums) == 1
