"""The benchmark of Nexmark: its files, its comparison of answers, and the systems that need no JVM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import compare, readme
from benchmarks.data import cache
from benchmarks.nexmark import answers, pages
from benchmarks.nexmark.__main__ import keep, main, table, workload
from benchmarks.nexmark.answers import difference, fingerprint, flat
from benchmarks.nexmark.by_hand import QUERIES as BY_HAND_QUERIES
from benchmarks.nexmark.data import Paths, prepare
from benchmarks.nexmark.measure import Options, measure
from benchmarks.nexmark.one_machine import SYSTEMS
from benchmarks.nexmark.picture import picture
from benchmarks.nexmark.systems import BY_HAND, DUCKDB, MORISOT, POLARS, WRITTEN, System, answer
from nexmark.events import Auction, Bid, Person, tables
from nexmark.queries import QUERIES
from tests.nexmark.oracle import ORACLES, Lists

EVENTS = 3_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setattr(cache, "DIRECTORY", tmp_path / "data")
    return prepare(EVENTS, files=3)


def test_the_files_have_the_events_in_order(paths: Paths) -> None:
    for path, events, kind in zip(paths, tables(EVENTS), (Person, Auction, Bid), strict=True):
        assert sorted(file.name for file in path.iterdir()) == ["000.parquet", "001.parquet", "002.parquet"]
        assert [kind(**row) for row in pq.read_table(path).to_pylist()] == list(events(0, 1))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_gives_the_results_of_plain_python(system: str, paths: Paths, tmp_path: Path) -> None:
    lists = Lists(*(list(table(0, 1)) for table in tables(EVENTS)))
    for name in BY_HAND_QUERIES:
        found = answer(SYSTEMS[system](), name, paths, tmp_path / name)()
        assert (tmp_path / name).exists() == (name in WRITTEN)
        assert difference(name, found, rows_of(ORACLES[name](lists)), paths) is None, name


def rows_of(elements: list[Any]) -> pa.Table:
    """Elements of nested tuples as a table; a list is one value."""

    def values(element: Any) -> list[Any]:
        return [leaf for each in element for leaf in values(each)] if isinstance(element, tuple) else [element]

    columns = [list(column) for column in zip(*map(values, elements), strict=True)]
    pairs = pa.list_(pa.struct([("auction", pa.int64()), ("count", pa.int64())]))
    arrays = [pa.array(list(map(dict_pairs, column)), pairs) if isinstance(column[0], list) else pa.array(column)
              for column in columns]  # fmt: skip
    return pa.table(arrays, names=[str(index) for index in range(len(arrays))])


def dict_pairs(pairs: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"auction": auction, "count": count} for auction, count in pairs]


@pytest.mark.parametrize("large", [0, 100])
def test_answers_are_compared_as_multisets(large: int, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LARGE", large)
    wanted = pa.table({"a": [1, 2, 2], "s": ["x", "y", "y"]})
    assert difference("q2", wanted.take([2, 0, 1]), wanted, paths) is None
    for other in (wanted.take([0, 0, 1]), wanted.slice(1), wanted.set_column(1, "s", pa.array(["x", "y", "z"]))):
        assert difference("q2", other, wanted, paths) is not None


def test_sums_of_floats_may_differ_in_their_last_digits(paths: Paths) -> None:
    wanted = pa.table({"mean": [0.3, 0.5]})
    assert difference("q4", pa.table({"mean": [0.5, 0.1 + 0.2]}), wanted, paths) is None
    assert difference("q4", pa.table({"mean": [0.5, 0.300001]}), wanted, paths) is not None


def test_of_equal_prices_a_winner_must_have_offered_the_price(paths: Paths) -> None:
    bid = pq.read_table(paths.bids).to_pylist()[0]
    winner = {"a": [bid["auction"]], "s": [1], "b": [bid["bidder"]], "p": [bid["price"]]}
    wanted = pa.table({**winner, "b": [-1]})
    assert difference("q9", pa.table(winner), wanted, paths) is None
    assert difference("q9", pa.table({**winner, "b": [-2]}), wanted, paths) == "1 winners who did not offer the price"
    assert difference("q9", pa.table({**winner, "s": [2]}), wanted, paths) is not None


def test_the_hash_of_a_table_does_not_depend_on_types_and_batches() -> None:
    wanted = flat(pa.table({"a": pa.array([1, 2, 3], pa.int32()), "s": pa.array(["x", "y", "x"]).dictionary_encode()}))
    batches = pa.concat_tables([pa.table({"a": [3], "s": ["x"]}), pa.table({"a": [2, 1], "s": ["y", "x"]})])
    assert fingerprint(flat(batches)) == fingerprint(wanted)


class Fixed(System):
    """Gives the same answer in each run, or fails."""

    def __init__(self, rows: list[int] | None) -> None:
        self.rows, self.count = rows, 0

    def run(self, query: str, paths: Paths, written: Path) -> pa.Table:
        self.count += 1
        if self.rows is None:
            raise ValueError("broken")
        return pa.table({"n": self.rows})

    def notes(self) -> list[str]:
        return ["a remark"]


def test_a_wrong_answer_and_a_failure_are_reported_and_results_are_merged(paths: Paths, tmp_path: Path) -> None:
    systems = {MORISOT: Fixed([1, 2]), BY_HAND: Fixed([2, 1]), "wrong": Fixed([1, 3]), "broken": Fixed(None)}
    taken = measure("q2", systems, paths, Options(pairs=3, warmups=2), tmp_path, progress=lambda _: None)
    assert [system.count for system in systems.values()] == [5, 5, 1, 1]
    facts = {"revision": "abc", "load_average_after": 0.0}
    found = workload("q2", taken, EVENTS, facts)
    variants = found["variants"]
    assert [len(variants[name]["runs"]) for name in (MORISOT, BY_HAND)] == [3, 3]
    assert variants[MORISOT]["notes"] == ["a remark"]
    assert "2" in variants["wrong"]["problem"]
    assert variants["broken"] == {"size": EVENTS, "problem": "ValueError: broken"}
    assert table({"q2": found}).row_count == 4

    kept = tmp_path / "kept.json"
    keep(kept, {"q2": found, "q3": found}, facts)
    keep(kept, {"q2": {**found, "revision": "def"}}, facts)
    workloads = json.loads(kept.read_text())["workloads"]
    assert [workloads[name]["revision"] for name in ("q2", "q3")] == ["def", "abc"]


def test_the_page_shows_the_kept_results() -> None:
    page = (ROOT / readme.NEXMARK).read_text()
    results, drawn = ROOT / readme.NEXMARK_RESULTS, ROOT / readme.NEXMARK_PICTURE
    document = json.loads(results.read_text()) if results.exists() else None
    for name, (path, _, show) in readme.TABLES.items():
        if path == readme.NEXMARK:
            content = show(document) if document else ""
            assert readme.filled(page, name, content) == page, "run `python -m benchmarks.readme`"
    assert drawn.exists() == results.exists()
    assert document is None or picture(document) == drawn.read_text(), "run `python -m benchmarks.readme`"


def result(cpu: float, expected: float, size: int) -> dict[str, Any]:
    """A query with the same times in all runs of a system."""

    def of(seconds: float) -> dict[str, Any]:
        cost = {"cpu_seconds": seconds, "wall_seconds": seconds}
        shares = dict.fromkeys(pages.RATIOS, seconds / expected)
        return {"size": size, "first": cost, "runs": [cost] * 5, "notes": [], **cost, **shares}

    variants = {MORISOT: of(cpu), BY_HAND: of(expected), POLARS: of(0.1), DUCKDB: of(0.2)}
    return {"query": "q4", "revision": "abc", "variants": variants}


def test_tables_and_picture_of_results() -> None:
    facts = {"cpu": "c", "cores": 2, "memory_gb": 8.0, "spark": "4.3.0", "java": "17", "python": "3.11"}
    small, large = result(2.0, 1.0, 10), result(6.0, 4.0, 20)
    other = {**result(1.0, 4.0, 20), "query": "q12"}
    document = {"machine": facts, "workloads": {"q12-20": other, "q4-10": small, "q4-20": large}}
    lines = pages.table(document).splitlines()
    assert lines[2] == "| Q4 | 1.50 | 1.50 | 1.50 | 1.50 | 4.00 (4.00) | 0.10 (0.10) | 0.20 (0.20) |"
    assert lines[3].startswith("| Q12 | 0.25 |")
    assert lines[4] == "| geometric mean | 0.61 | 0.61 | 0.61 | 0.61 | | | |"
    sums = [
        "| 10 | 2.0 (2.0) | 1.0 (1.0) | 0.1 (0.1) | 0.2 (0.2) |",
        "| 20 | 6.0 (6.0) | 4.0 (4.0) | 0.1 (0.1) | 0.2 (0.2) |",
    ]
    assert pages.scale_table(document).splitlines()[2:4] == sums
    assert picture(document).count("<polyline") > 8
    ratios = {row.variant: compare.ratio(row.old, row.new).middle for row in compare.rows(document, document)}
    assert ratios == dict.fromkeys((MORISOT, BY_HAND, POLARS, DUCKDB), 1.0)


@pytest.mark.thorough
@pytest.mark.usefixtures("spark")
def test_all_systems_agree_on_a_little_data(paths: Paths, tmp_path: Path) -> None:
    report = tmp_path / "nexmark.json"
    assert main(["--events", str(EVENTS), "--pairs", "0", "--warmups", "1", "--json", str(report)]) == 0
    assert {one["query"] for one in json.loads(report.read_text())["workloads"].values()} == set(QUERIES)
