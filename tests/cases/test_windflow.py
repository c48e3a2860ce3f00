"""What WindFlow gives, case by case: the facts of windflow.jsonl, on every engine.

WindFlow gives windows numbers and emits empty ones; Morisot gives them bounds and leaves empty ones out (design: empty
windows are never emitted), so the tests compare what is inside.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.cases.test_renoir import ctx, listed

assert ctx is not None, "the fixture is shared"
HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "cases" / "windflow.jsonl"
CASES = {case["name"]: case for case in map(json.loads, (HERE / "windflow.jsonl").read_text().splitlines())}

NOT_YET = {
    "join": "wf_interval_join_-1_2 wf_interval_join_0_0 wf_interval_join_-2_-1",
    "combine": "wf_split_multicast",
    "unbounded windows, which have late elements": (
        "wf_tb_late_dropped wf_tb_late_lost_from_open_window wf_probabilistic_kslack wf_watermark_above_max_ts"
    ),
}
"""Which family will bring which cases."""

NO_COUNTERPART = {
    "wf_sink_eos": "a sink function of Morisot is called with elements only; collect_vec and jobs tell when it is over",
}
"""Cases about what Morisot has no word for."""

BEFORE_ZERO: dict[str, list[Any]] = {
    "wf_tb_sliding_10_5": [[0, 3]],
    "wf_paned_windows_sum_3_2": [0],
    "wf_ffat_windows_tb_sum_3_2": [0],
}
"""Decided otherwise: windows are aligned to the epoch, before it too; WindFlow's first window begins at 0."""


def contents(name: str) -> list[Any]:
    """What the case expects inside its windows, those that are not empty, and those that begin before zero."""
    return [*BEFORE_ZERO.get(name, []), *(window[-1] for window in CASES[name]["expected"] if window[-1])]


def timed(context: mo.StreamContext, name: str) -> Any:
    rows = [tuple(row) for row in CASES[name]["input"]]
    return context.stream_iter(rows).add_timestamps(lambda row: row[1]).map(lambda row: row[0])


@pytest.mark.parametrize("name", ["wf_cb_3_2", "wf_cb_hopping_2_3"])
def test_count_windows(name: str, ctx: mo.StreamContext) -> None:
    """Partial windows are emitted at the end: exact=False."""
    params = CASES[name]["params"]
    windows = mo.CountWindow.sliding(params["len"], params["slide"], exact=False)
    assert listed(ctx.stream_iter(CASES[name]["input"]).window_all(windows)).collect() == contents(name)


def test_wf_cb_keyed(ctx: mo.StreamContext) -> None:
    case = CASES["wf_cb_keyed"]
    windows = mo.CountWindow.sliding(case["params"]["len"], case["params"]["slide"], exact=False)
    found = listed(ctx.stream_iter(case["input"]).group_by(lambda v: v % 2).window(windows)).collect()
    assert sorted(found) == sorted((key, values) for key, _, values in case["expected"])


@pytest.mark.parametrize(
    "name",
    ["wf_tb_gap_empty_windows", "wf_tb_first_ts_105", "wf_tb_sliding_10_5", "wf_tb_hopping_2_5", "wf_tb_lateness_100"],
)
def test_time_windows(name: str, ctx: mo.StreamContext) -> None:
    """The timestamps are taken for milliseconds; an element that waits for nothing is what lateness gives on time."""
    params = CASES[name]["params"]
    windows = mo.EventTimeWindow.sliding(params["len"], params["slide"])
    assert sorted(listed(timed(ctx, name).window_all(windows)).collect()) == sorted(contents(name))


@pytest.mark.parametrize("name", ["wf_paned_windows_sum_3_2", "wf_ffat_windows_tb_sum_3_2"])
def test_sums_by_panes(name: str, ctx: mo.StreamContext) -> None:
    params = CASES[name]["params"]
    windows = mo.EventTimeWindow.sliding(params["len"], params["slide"])
    sums = ctx.stream_iter(CASES[name]["input"]).add_timestamps(lambda v: v).window_all(windows).sum()
    assert sorted(sums.collect()) == sorted([*BEFORE_ZERO[name], *CASES[name]["expected"]])


def test_wf_reduce_rolling(ctx: mo.StreamContext) -> None:
    """WindFlow's reduce emits its state for every element: that is rich_map."""
    case = CASES["wf_reduce_rolling"]
    rolling = ctx.stream_iter(case["input"]).group_by(lambda v: v % 2).rich_map(0, lambda s, k, v: (s + v, s + v))
    found = rolling.collect()
    assert {str(key): [value for k, value in found if k == key] for key in (0, 1)} == case["expected"]


@pytest.mark.jvm
def test_wf_metamorphic(make_context: Any) -> None:
    """The parallelism of a run changes nothing."""
    assert CASES["wf_metamorphic"]["expected"] == {"same_global_sum_in_every_run": True}

    def program(context: mo.StreamContext) -> list[Any]:
        keyed = context.stream_par_iter(range(500)).add_timestamps(lambda n: n * 7 % 500).group_by(lambda n: n % 5)
        return sorted(keyed.window(mo.EventTimeWindow.sliding(60, 20)).sum().collect())

    session = make_context("bounded").spark
    runs = [mo.StreamContext(session, config=mo.Config(progress=False, parallelism=n)) for n in (1, 3)]
    expected = program(mo.StreamContext(engine="reference"))
    assert [program(context) for context in runs] == [expected, expected]


def test_every_case_is_covered_or_waits_for_a_family() -> None:
    later = [name for names in NOT_YET.values() for name in names.split()]
    text = Path(__file__).read_text()
    tested = [name for name in CASES if name not in later and name not in NO_COUNTERPART]
    assert sorted([*tested, *later, *NO_COUNTERPART]) == sorted(CASES), "a name is misspelt"
    assert [name for name in tested if name not in text] == []


def test_the_copy_holds_the_shared_facts() -> None:
    if not SHARED.exists():
        pytest.skip(f"the shared cases do not lie beside the project ({SHARED}); the copy is what the tests use")
    assert SHARED.read_text() == (HERE / "windflow.jsonl").read_text()
