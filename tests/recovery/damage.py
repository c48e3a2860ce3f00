"""Checkpoints of every kind, whose files a test can damage one by one.

A kind makes a checkpoint (`begin`) and resumes it to the end (`resume`), which gives the answer. Both run in one
directory. `pristine` keeps a copy of it from between the two, so that each damage starts from the same files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

import morisot as mo

CONFIG = mo.Config(progress=False, report=False, parallelism=1)


class NotYetError(Exception):
    """Raised by a function of a program that is to fail before it is repaired."""


def put(directory: Path, number: int, *lines: int) -> None:
    """A file of a followed directory, with a time of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{number}.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, (number + 1, number + 1))


def until_repaired(value: int, worst: int, directory: Path) -> int:
    """The value; one of them fails until the program is repaired."""
    if value == worst and not (directory / "repaired").exists():
        raise NotYetError
    return value


def rows(directory: Path) -> list[Any]:
    """Everything in the Parquet files of a directory, as those see it who do not know Spark's log."""
    files = sorted(directory.rglob("*.parquet"))
    return sorted(tuple(row.values()) for file in files for row in pq.ParquetFile(file).read().to_pylist())


def changes(directory: Path) -> list[Any]:
    """The same with the number of the micro-batch."""
    return sorted((each.name, *row) for each in directory.glob("batch=*") for row in rows(each))


@dataclass(frozen=True)
class Kind:
    """A kind of job that is checkpointed."""

    name: str
    run: Callable[[Any, Path], None]
    """Run it once: the first time it stops in the middle, the second time it runs to the end."""
    answer: Callable[[Path], Any]
    more: Callable[[Path], None]
    """What happens between the two runs: new input, a repair."""

    def files(self, directory: Path) -> list[Path]:
        """The files of the checkpoint, relative to the directory."""
        found = (directory / "saves", *directory.glob("out*/_spark_metadata"))
        files = (file for each in found for file in sorted(each.rglob("*")) if file.is_file())
        return [file.relative_to(directory) for file in files]


# -- streams ----------------------------------------------------------------------------------------------------------


def stream(build: Callable[[mo.StreamContext, Path], None]) -> Callable[[Any, Path], None]:
    def run(spark: Any, directory: Path) -> None:
        with mo.StreamContext(spark, config=CONFIG, snapshots=mo.Snapshots(directory / "saves", keep=4)) as ctx:
            build(ctx, directory)
            job = ctx.start()
            try:
                job.catch_up()
            finally:
                job.stop()

    return run


def numbers(ctx: mo.StreamContext, directory: Path, name: str = "in") -> mo.Stream[int]:
    return ctx.stream_file(directory / name, unbounded=True, files_per_batch=1).map(lambda line: int(line))


def stateless(ctx: mo.StreamContext, directory: Path) -> None:
    numbers(ctx, directory).map(lambda n: n * 10).write_parquet(str(directory / "out"))


def planned(ctx: mo.StreamContext, directory: Path) -> None:
    """The last micro-batch is planned, and not committed."""
    failing = numbers(ctx, directory).map(lambda n: until_repaired(n, 4, directory), returns=int)
    failing.rich_map(0, lambda total, n: (total + n, total + n)).write_parquet(str(directory / "out"))


def shared(ctx: mo.StreamContext, directory: Path) -> None:
    """Two sinks of one query."""
    tens = numbers(ctx, directory).map(lambda n: n * 10)
    tens.name("plain").write_parquet(str(directory / "out"))
    tens.map(lambda n: n + 1).name("more").write_parquet(str(directory / "out-more"))


def aggregate(ctx: mo.StreamContext, directory: Path) -> None:
    numbers(ctx, directory).group_by_sum(lambda n: n % 2, lambda n: n).write_parquet(str(directory / "out"))


def window(ctx: mo.StreamContext, directory: Path) -> None:
    timed = numbers(ctx, directory).add_timestamps(lambda n: n, delay=0)
    timed.window_all(mo.EventTimeWindow.tumbling(2)).sum().write_parquet(str(directory / "out"))


def join(ctx: mo.StreamContext, directory: Path) -> None:
    left, right = (
        numbers(ctx, directory, name).add_timestamps(lambda n: n, delay=0).group_by(lambda n: n % 3)
        for name in ("in", "in2")
    )
    left.join(right, within=100).unkey().map(lambda pair: pair[1]).write_parquet(str(directory / "out"))


def staged(ctx: mo.StreamContext, directory: Path) -> None:
    """A directory that is committed after the snapshot, whose last micro-batch is planned."""
    failing = numbers(ctx, directory).map(lambda n: until_repaired(n, 4, directory), returns=int)
    failing.write_to(mo.sinks.Directory(directory / "out"))


def lines(directory: Path) -> list[str]:
    return [line for file in directory.glob("batch=*/part-*") for line in file.read_text().splitlines()]


def bounded_input(ctx: mo.StreamContext, directory: Path) -> None:
    """A bounded stream before an unbounded one."""
    ctx.stream_iter([100, 200]).merge(numbers(ctx, directory)).write_parquet(str(directory / "out"))


def more_files(directory: Path) -> None:
    put(directory / "in", 2, 5, 6, 7)
    put(directory / "in2", 2, 8)
    (directory / "repaired").touch()


def streams() -> Iterator[Kind]:
    for build in (stateless, planned, window, join, bounded_input):
        yield Kind(build.__name__, stream(build), lambda directory: rows(directory / "out"), more_files)
    yield Kind("staged", stream(staged), lambda directory: sorted(lines(directory / "out")), more_files)
    yield Kind("aggregate", stream(aggregate), lambda directory: changes(directory / "out"), more_files)
    both = lambda directory: (rows(directory / "out"), rows(directory / "out-more"))  # noqa: E731
    yield Kind("shared", stream(shared), both, more_files)


# -- loops and bounded jobs -------------------------------------------------------------------------------------------


def added(left: Any, right: Any) -> Any:
    return left + right


def asking(directory: Path) -> Callable[[Any], bool]:
    """A condition that fails the fifth time it is asked, until the program is repaired."""
    asked = []

    def ask(state: Any) -> bool:
        asked.append(state)
        if len(asked) == 5 and not (directory / "repaired").exists():
            raise NotYetError
        return True

    return ask


def bounded(build: Callable[[mo.StreamContext, Path], Any], **settings: Any) -> Callable[[Any, Path], None]:
    def run(spark: Any, directory: Path) -> None:
        snapshots = mo.Snapshots(directory / "saves", keep=2, **settings)
        with mo.StreamContext(spark, config=CONFIG, snapshots=snapshots) as ctx:
            answer = build(ctx, directory)
            (directory / "answer").write_text(repr(answer))

    return run


def feedback(ctx: mo.StreamContext, directory: Path) -> Any:
    state, elements = ctx.stream_iter(range(6)).iterate(
        7, 0, lambda s, state: s.map(lambda n: n + state.value % 3), added, added, asking(directory), delta=0
    )
    results = state.collect_vec(), elements.collect_vec()
    ctx.execute()
    return [sorted(result.get()) for result in results]


def replay(ctx: mo.StreamContext, directory: Path) -> Any:
    stream = ctx.stream_iter(range(6))
    return stream.replay(
        7, 0, lambda s, state: s.map(lambda n: n + state.value % 3), added, added, asking(directory), delta=0
    ).collect()


def per_round(ctx: mo.StreamContext, directory: Path) -> Any:
    def body(s: Any, state: Any) -> Any:
        return s.group_by_sum(lambda n: n % 4, lambda n: n + 1).drop_key()

    state, elements = ctx.stream_iter(range(6)).iterate(7, 0, body, added, added, asking(directory), delta=0)
    results = state.collect_vec(), elements.collect_vec()
    ctx.execute()
    return [sorted(result.get()) for result in results]


def nested(ctx: mo.StreamContext, directory: Path) -> Any:
    ask = asking(directory)

    def body(s: Any, outer: Any) -> Any:
        return s.replay(
            3, 0, lambda t, state: t.map(lambda n: n + outer.value % 5 + state.value % 3), added, added, ask, delta=0
        )

    return ctx.stream_iter(range(6)).replay(3, 0, body, added, added, lambda _: True, delta=0).collect()


def delta(ctx: mo.StreamContext, directory: Path) -> Any:
    """Distances in a chain; the function of an edge fails in the fifth round."""

    def following(changed: Any) -> Any:
        steps = changed.unkey().filter(lambda pair: pair[0] < 7)
        steps = steps.map(
            lambda pair: (pair[0] + 1, until_repaired(pair[1] + 1, 5, directory)), returns=tuple[int, int]
        )
        return steps.group_by(lambda pair: pair[0]).map(lambda _, pair: pair[1])

    start = ctx.stream_iter([(0, 0), *((n, 99) for n in range(1, 8))]).group_by(lambda pair: pair[0])
    distances = start.map(lambda _, pair: pair[1]).delta_iterate(
        20,
        lambda _, old, new: min(old, new),
        lambda _, distance: distance,
        lambda _, distance: distance,
        lambda _: True,
        following,
    )
    return sorted(distances.collect())


def resumable(ctx: mo.StreamContext, directory: Path) -> Any:
    """Parts of two sources, one of files, one copied; the fourth source split fails."""
    lines = ctx.stream_file(directory / "in").map(lambda line: int(line))
    counted = lines.map(lambda n: until_repaired(n, 4, directory), returns=int).group_by_count(lambda n: n % 2)
    counts = counted.collect_vec()
    running = ctx.stream_iter([3, 1, 2, 5, 4, 6]).rich_map(0, lambda total, n: (total + n, total + n)).collect_vec()
    ctx.execute()
    return [sorted(counts.get()), running.get()]


def pieces(ctx: mo.StreamContext, directory: Path) -> Any:
    """The second source split fails; there is no state."""
    lines = ctx.stream_file(directory / "in")
    return lines.map(lambda line: until_repaired(int(line), 4, directory), returns=int).collect()


def windows(ctx: mo.StreamContext, directory: Path) -> Any:
    """Windows that are open until the end of the input."""
    timed = ctx.stream_iter(range(8)).map(lambda n: until_repaired(n, 5, directory), returns=int)
    timed = timed.add_timestamps(lambda n: n, delay=0)
    return timed.window_all(mo.EventTimeWindow.tumbling(3)).sum().collect()


def repair(directory: Path) -> None:
    (directory / "repaired").touch()


def of_bounded_jobs() -> Iterator[Kind]:
    read = lambda directory: (directory / "answer").read_text()  # noqa: E731
    for build in (feedback, replay, per_round, nested, delta):
        yield Kind(f"loop_{build.__name__}", bounded(build, rounds=1), read, repair)
    for build in (pieces, resumable, windows):
        yield Kind(build.__name__, bounded(build, items=2), read, repair)


KINDS = {kind.name: kind for kind in (*streams(), *of_bounded_jobs())}


# -- damage -----------------------------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Path], object]] = {
    "emptied": lambda file: file.write_bytes(b""),
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "deleted": lambda file: file.unlink(),
    "garbage": lambda file: file.write_bytes(bytes((37 * n + 11) % 256 for n in range(max(64, file.stat().st_size)))),
}


class Case(NamedTuple):
    file: Path
    way: str

    def __str__(self) -> str:
        return f"{self.file} {self.way}"


class Checkpoint:
    """A checkpoint of a kind, made once, damaged many times."""

    def __init__(self, kind: Kind, spark: Any, directory: Path) -> None:
        self._kind = kind
        self._spark = spark
        self._work, self._pristine = directory / kind.name, directory / f"{kind.name}.pristine"
        for number, lines in enumerate([(1, 2), (3, 4)]):
            put(self._work / "in", number, *lines)
            put(self._work / "in2", number, *lines)
        try:
            kind.run(spark, self._work)
        except mo.MorisotError as error:
            assert isinstance(error.__cause__, NotYetError) or "NotYetError" in str(error), error  # noqa: PT017
        kind.more(self._work)
        shutil.copytree(self._work, self._pristine)
        self.expected = self._resumed()

    def cases(self) -> list[Case]:
        files = self._kind.files(self._pristine)
        return [Case(file, way) for file in files for way in WAYS if not (way == "cut" and self._is_small(file))]

    def _is_small(self, file: Path) -> bool:
        return (self._pristine / file).stat().st_size < 2

    def outcome(self, case: Case) -> str:
        """What becomes of a damaged checkpoint: the right answer, an error that says what is wrong, or a defect."""
        shutil.rmtree(self._work)
        shutil.copytree(self._pristine, self._work)
        before = (self._work / case.file).read_bytes()
        WAYS[case.way](self._work / case.file)
        if (self._work / case.file).exists() and (self._work / case.file).read_bytes() == before:
            return "right"
        try:
            answer = self._resumed()
        except mo.SnapshotError as error:
            return "refused" if str(self._work) in str(error) else f"names no file: {error}"
        except BaseException as error:
            return f"{type(error).__name__}: {error}"[:600]
        return "right" if answer == self.expected else f"another answer: {answer!r}, not {self.expected!r}"

    def _resumed(self) -> Any:
        self._kind.run(self._spark, self._work)
        return self._kind.answer(self._work)


def main() -> None:
    """All damages of some kinds, or of those named: `python -m tests.recovery.damage [KIND…]`."""
    import collections
    import sys
    import tempfile
    import time
    import warnings

    from morisot.engines.spark.session.session import build_session

    warnings.simplefilter("ignore")
    spark = build_session(mo.Config(master="local[2]", parallelism=1, memory="1g", progress=False))
    total: collections.Counter[str] = collections.Counter()
    for name in sys.argv[1:] or KINDS:
        began, counts = time.monotonic(), collections.Counter[str]()
        with tempfile.TemporaryDirectory() as directory:
            checkpoint = Checkpoint(KINDS[name], spark, Path(directory))
            for case in checkpoint.cases():
                outcome = checkpoint.outcome(case)
                counts[outcome if outcome in ("right", "refused") else "defect"] += 1
                if outcome not in ("right", "refused"):
                    print(f"{name}: {case}: {outcome}", flush=True)
        total += counts
        print(f"{name}: {sum(counts.values())} damages, {dict(counts)}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"in all: {sum(total.values())} damages, {dict(total)}")
    spark.stop()


if __name__ == "__main__":
    main()
