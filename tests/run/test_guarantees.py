"""What each pair of a source and a sink gives, computed without a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.plan.analysis.guarantees import guarantee
from morisot.plan.analysis.trigger import Trigger, trigger_of
from morisot.plan.nodes.partition import BatchMode


class Repeats(mo.Sink[Any]):
    def prepare(self, batch: int, elements: Sequence[Any]) -> None: ...


class Remembers(Repeats):
    def last_committed(self) -> int | None:
        return 3


class Staging(Repeats, commit="after_snapshot"): ...


class Numbers(mo.OffsetSource[int]): ...


SOURCES = {
    "file": lambda ctx, path: ctx.stream_file(path, unbounded=True),
    "kafka": lambda ctx, path: ctx.stream_kafka("127.0.0.1:9", "lines", unbounded=True),
    "rate": lambda ctx, path: ctx.stream_rate(1),
    "offsets": lambda ctx, path: ctx.stream(Numbers()),
    "socket": lambda ctx, path: ctx.stream_socket("127.0.0.1", 9),
    "both": lambda ctx, path: ctx.stream_socket("127.0.0.1", 9).merge(ctx.stream_file(path, unbounded=True)),
}
SINKS = {
    "write": lambda stream, path: stream.write_json(f"{path}/out"),
    "topic": lambda stream, path: stream.write_kafka("127.0.0.1:9", "lines", value=str),
    "for_each": lambda stream, path: stream.for_each(print),
    "channel": lambda stream, path: stream.collect_channel(),
    "repeats": lambda stream, path: stream.write_to(Repeats()),
    "remembers": lambda stream, path: stream.write_to(Remembers()),
    "staging": lambda stream, path: stream.write_to(Staging()),
}
AGAIN = ("file", "kafka", "rate", "offsets")
EXPECTED = {
    **{(source, sink): "exactly once" for source in AGAIN for sink in ("write", "remembers", "staging")},
    **{(source, sink): "at least once" for source in AGAIN for sink in ("topic", "for_each", "repeats")},
    **{(source, "channel"): "none" for source in SOURCES},
    **{(source, sink): "at most once" for source in ("socket", "both") for sink in ("write", "remembers", "staging")},
    **{(source, sink): "none" for source in ("socket", "both") for sink in ("topic", "for_each", "repeats")},
}


@pytest.mark.parametrize(("source", "sink"), [(source, sink) for source in SOURCES for sink in SINKS])
def test_guarantee(source: str, sink: str, tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    SINKS[sink](SOURCES[source](ctx, tmp_path), tmp_path)
    (node,) = ctx._sinks
    assert guarantee(node) == EXPECTED[source, sink]


def test_explain_says_what_sinks_can_rely_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ctx = mo.StreamContext(engine="reference")
    SOURCES["file"](ctx, tmp_path).explain()
    once = "write_kafka at least once, for_each at least once, collect_channel none"
    said = f"with snapshots: write_… exactly once, {once}"
    assert said in capsys.readouterr().out.splitlines()
    SOURCES["socket"](ctx, tmp_path).explain()
    said = "with snapshots: write_… at most once, write_kafka none, for_each none, collect_channel none"
    assert said in capsys.readouterr().out.splitlines()
    ctx.stream_iter([1]).explain()
    assert "with snapshots" not in capsys.readouterr().out


def test_explain_says_what_a_two_phase_sink_can_rely_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for snapshots, expected in (
        (None, "without snapshots: write_to(Staging) none after a crash"),
        (tmp_path / "saves", "with snapshots: write_to(Staging) exactly once"),
    ):
        ctx = mo.StreamContext(engine="reference", snapshots=snapshots)
        for stream in (SOURCES["file"](ctx, tmp_path), ctx.stream_iter([1])):
            stream.map(lambda n: n).write_to(Staging())
            stream.explain()
            assert capsys.readouterr().out.splitlines()[-1] == expected
        ctx._sinks.clear()


def test_an_alias_beside_its_callback_is_refused() -> None:
    class Both(Repeats):
        def open(self) -> None: ...

        def on_init(self, place: mo.Replica) -> None: ...

    class BothEnds(Repeats):
        def close(self) -> None: ...

        def on_exit(self) -> None: ...

    stream = mo.StreamContext(engine="reference").stream_iter([1])
    with pytest.raises(mo.PlanError, match=r"Both has on_init and open, which are the same callback \(.*:\d+\)"):
        stream.write_to(Both())
    with pytest.raises(mo.PlanError, match="BothEnds has on_exit and close"):
        stream.write_to(BothEnds())


def test_what_a_class_says_of_its_commits() -> None:
    class Wide(Repeats, commit="after_snapshot", parallel=True): ...

    class Wider(Wide): ...

    assert (Wider.commit_time, Wider.is_parallel) == ("after_snapshot", True)
    with pytest.raises(mo.PlanError, match="Never: commit is 'never'.*\n.*'at_once' or 'after_snapshot'"):

        class Never(Repeats, commit="never"):  # type: ignore[arg-type]
            pass

    with pytest.raises(mo.PlanError, match="Early is parallel and commits at once"):

        class Early(Repeats, parallel=True): ...


def test_the_trigger_of_a_job(tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    rate = ctx.stream_rate(5)
    assert trigger_of([rate._node], None) == Trigger()
    assert trigger_of([rate._node], mo.Snapshots(tmp_path, every="2s")) == Trigger(2.0)
    quick = rate.batch_mode(BatchMode.adaptive(100, 250)).map(lambda n: n)
    assert trigger_of([quick._node], None) == Trigger(0.25, 100)
    assert trigger_of([quick._node], mo.Snapshots(tmp_path, every="2s")) == Trigger(2.0, 100), (
        "what snapshots say counts"
    )
    slow = rate.batch_mode(BatchMode.adaptive(20, 900)).map(lambda n: n)
    assert trigger_of([quick._node, slow._node], None) == Trigger(0.25, 20), (
        "the strictest of those that are served together"
    )
    with pytest.raises(mo.PlanError, match=r"stream_rate cannot read 5 elements at a time.*\n.*every="):
        trigger_of([rate._node], mo.Snapshots(tmp_path, items=5))
    topic = ctx.stream_kafka("localhost:9092", "topic", unbounded=True)
    assert trigger_of([topic._node], mo.Snapshots(tmp_path, items=5)) == Trigger(None, 5, by_items=True)
