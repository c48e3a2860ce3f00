"""Programs whose checkpoints are stored as fixtures: a version that cannot resume one of them has broken its format.

A program is compared with the one that made its checkpoint, so it must not change. A stream follows a directory, whose
path may change because the source has a name. What it gives goes into a book of its own, a page for each micro-batch.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import morisot as mo
from tests.recovery import fixture_loop
from tests.recovery.damage import put

CONFIG = mo.Config(progress=False, report=False, parallelism=1)
BEFORE, ALL = 14, 27
"""How many numbers there are when a checkpoint is made, and when it is resumed."""
FILES = ((0, range(4)), (1, range(4, 8)), (2, range(8, 12)), (3, range(12, BEFORE)))
"""What each micro-batch has before."""
REST = ((4, range(BEFORE, ALL)),)
LAST = ALL - 1
"""The last number is later than all time windows of the others, and closes them."""


class NotYetError(Exception):
    """Raised by a bounded program that is to stop in the middle."""


class Book(mo.Sink[Any]):
    """A page for each micro-batch."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)

    def last_committed(self) -> int | None:
        return max((int(page.stem) for page in self._directory.glob("*.json")), default=None)

    def prepare(self, batch: int, elements: Sequence[Any]) -> None:
        self._elements = elements

    def commit(self, batch: int) -> None:
        if self._elements:
            (self._directory / f"{batch:04}.json").write_text(json.dumps(self._elements))

    def pages(self) -> list[Any]:
        return [json.loads(page.read_text()) for page in sorted(self._directory.glob("*.json"))]

    def __repr__(self) -> str:
        return "Book()"


# -- streams ----------------------------------------------------------------------------------------------------------


class Total(NamedTuple):
    number: int
    text: str


def moment(n: int) -> int:
    """Milliseconds: numbers come in groups of five, and a long time after the others the last one."""
    return n * 100 + n // 5 * 1000 if n < LAST else 10**6


def key(n: int) -> int:
    return n % 3 if n < LAST else -1


def running_aggregate(numbers: mo.Stream[int], others: mo.Stream[int]) -> Any:
    """The accumulator is a record."""
    return numbers.group_by(key).fold(Total(0, ""), lambda total, n: Total(total.number + 1, f"{total.text}{n},"))


def session_window(numbers: mo.Stream[int], others: mo.Stream[int]) -> Any:
    timed = numbers.add_timestamps(moment, delay=0).group_by(key)
    return timed.window(mo.EventTimeWindow.session(600)).map(lambda items: items, returns=list[int])


def count_window(numbers: mo.Stream[int], others: mo.Stream[int]) -> Any:
    """Windows that overlap, and hold elements as well as sums; then windows of their results."""
    windows = numbers.map(lambda n: Total(n, str(n))).group_by(lambda total: key(total.number))
    both = windows.window(mo.CountWindow.sliding(4, 2)).aggregate(
        sum=mo.agg.sum(lambda total: total.number), first=mo.agg.first()
    )
    texts = both.map(lambda _, row: f"{row.sum} from {row.first.text}")
    return texts.window(mo.CountWindow.tumbling(2)).reduce(lambda one, other: f"{one}, {other}")


def transaction_window(numbers: mo.Stream[int], others: mo.Stream[int]) -> Any:
    by_sevens: mo.TransactionWindow[int] = mo.TransactionWindow(lambda n: mo.Tx.COMMIT if n % 7 == 6 else mo.Tx.NONE)
    return numbers.group_by(lambda n: n % 2).window(by_sevens).fold("", lambda text, n: f"{text}{n},")


def join(numbers: mo.Stream[int], others: mo.Stream[int]) -> Any:
    left = numbers.add_timestamps(moment, delay=0).group_by(key)
    right = others.map(lambda n: Total(n, str(n))).add_timestamps(lambda total: moment(total.number), delay=0)
    joined = left.outer_join(
        right.filter(lambda total: total.number % 2 == 0).group_by(lambda t: key(t.number)), within=300
    )
    return joined.map(
        lambda _, pair: (pair[0], None if pair[1] is None else pair[1].text), returns=tuple[int | None, str | None]
    )


SIDES = ("left", "right")
Program = Callable[[mo.Stream[int], mo.Stream[int]], Any]
STREAMS: dict[str, Program] = {
    program.__name__: program
    for program in (
        running_aggregate,
        session_window,
        count_window,
        transaction_window,
        join,
    )
}


def run_stream(spark: Any, directory: Path, name: str, files: Iterable[tuple[int, Iterable[int]]] = REST) -> None:
    """Put some more files into the directories that the program follows, and run it until they are read."""
    for side, (number, lines) in itertools.product(SIDES, files):
        put(directory / "in" / name / side, number, *lines)
    with mo.StreamContext(spark, config=CONFIG, snapshots=mo.Snapshots(directory / "saves", keep=2)) as ctx:
        numbers, others = (followed(ctx, directory / "in" / name / side).name(side) for side in SIDES)
        results = STREAMS[name](numbers.map(lambda line: int(line)), others.map(lambda line: int(line)))
        if name != "running_aggregate":
            results = results.unkey().map(lambda pair: pair)  # a row-wise operator with a name may change
        results.name(name).write_to(book(directory, name))
        job = ctx.start()
        try:
            job.catch_up()
        finally:
            job.stop()


def followed(ctx: mo.StreamContext, directory: Path) -> mo.Stream[str]:
    return ctx.stream_file(directory, unbounded=True, files_per_batch=1)


def book(directory: Path, name: str) -> Book:
    return Book(directory / "books" / name)


def written(directory: Path, name: str) -> list[Any]:
    """What a stream has given in all; of running values the last one of each key."""
    pages = book(directory, name).pages()
    if name == "running_aggregate":
        return sorted(({pair[0]: pair for page in pages for pair in page}).values())
    return sorted((pair for page in pages for pair in page), key=repr)


def expected(name: str) -> list[Any]:
    """What an undisturbed run gives: the reference's answer, without windows that the last number leaves open."""
    ctx = mo.StreamContext(engine="reference")
    results = STREAMS[name](ctx.stream_iter(range(ALL)), ctx.stream_iter(range(ALL))).collect()
    closed = [pair for pair in results if not (name == "session_window" and pair[0] == key(LAST))]
    plain = json.loads(json.dumps(closed))
    return sorted(plain) if name == "running_aggregate" else sorted(plain, key=repr)


# -- bounded jobs -----------------------------------------------------------------------------------------------------


def stops_at(last: int | None) -> Callable[[Any], bool]:
    """A condition that fails when it was asked so often."""
    asked: list[Any] = []

    def goes_on(state: Any) -> bool:
        asked.append(state)
        if len(asked) == last:
            raise NotYetError
        return True

    return goes_on


def loop(ctx: mo.StreamContext, fails: bool) -> Any:
    state, elements = fixture_loop.build(ctx, stops_at(5 if fails else None))
    results = state.collect_vec(), elements.collect_vec()
    ctx.execute()
    return [results[0].get(), sorted(results[1].get())]


def number_of(pair: tuple[int, str], fails: bool) -> int:
    if fails and pair[0] == 13:
        raise NotYetError
    return pair[0]


def resumable(ctx: mo.StreamContext, fails: bool) -> Any:
    """States that wait for the end of time, over a source that is copied."""
    pairs = ctx.stream_iter([(n, f"element {n}") for n in range(20)]).name("pairs")
    numbers = pairs.map(lambda pair: number_of(pair, fails), returns=int).name("numbers")
    timed = numbers.add_timestamps(lambda n: n * 100, delay=0).group_by(lambda n: n % 3)
    return sorted(timed.window(mo.EventTimeWindow.sliding("1s", "500ms")).sum().with_bounds().collect())


BOUNDED: dict[str, tuple[Callable[[mo.StreamContext, bool], Any], dict[str, Any]]] = {
    "loop": (loop, {"rounds": 1}),
    "resumable": (resumable, {"items": 4}),
}


def run_bounded(spark: Any, directory: Path, name: str, *, fails: bool = False) -> Any:
    program, cut = BOUNDED[name]
    snapshots = mo.Snapshots(directory / "saves", keep=2, **cut)
    with mo.StreamContext(spark, config=CONFIG, snapshots=snapshots) as ctx:
        return program(ctx, fails)


def expected_of_bounded(name: str) -> Any:
    return BOUNDED[name][0](mo.StreamContext(engine="reference"), False)
