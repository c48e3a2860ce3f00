"""Programs on a broker, in a process of their own: `python -m tests.kafka.programs SERVERS DIRECTORY` tells of them.

The session of the other tests has no connector, and a process has one session.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import morisot as mo

GIVEN = mo.Config.from_environment()
SMALL = {
    "driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"
}  # so little runs here that compiling it well is lost time
CONFIG = dataclasses.replace(
    GIVEN, master="local[2]", parallelism=2, memory="1g", progress=False, spark={**GIVEN.spark, **SMALL}
)
Program = Callable[[mo.StreamContext, str, Path], Any]


def records(ctx: mo.StreamContext, servers: str, _: Path) -> Any:
    """Keys and values there and back."""
    numbers = ctx.stream_iter(range(200))
    numbers.write_kafka(servers, "numbers", key=lambda n: str(n % 7), value=lambda n: str(n))
    ctx.execute()
    found = ctx.stream_kafka(servers, "numbers", record=True).collect()
    values = ctx.stream_kafka(servers, "numbers").map(lambda text: int(text))
    return {
        "records": [[*each[:5], each.timestamp.isoformat()] for each in found],
        "classes": sorted({type(each).__name__ for each in found}),
        "values": values.collect(),
        "sum": values.fold_assoc(0, lambda total, n: total + n, lambda a, b: a + b).collect(),
        "columns": ctx.stream_kafka(servers, "numbers", record=True)
        .filter(lambda record: record.partition == 0)
        .map(lambda record: (record.offset, record.key, record.timestamp.year))
        .collect()[:2],
    }


def kinds(ctx: mo.StreamContext, servers: str, _: Path) -> Any:
    """What else can be written, and what does not fit the type it is read with."""
    ctx.stream_iter([b"\xff\x00", b"plain"]).write_kafka(servers, "raw")
    ctx.stream_iter([{"n": 1}, {"n": 2}]).write_kafka(servers, "objects", value=json.dumps)
    counts = ctx.stream_iter(["a", "b", "a"]).group_by_count(lambda word: word)
    counts.write_kafka(servers, "counts", value=lambda word, count: f"{word} {count}")
    ctx.stream_iter(["gone"]).write_kafka(servers, "gone", key=lambda word: word, value=lambda word: eval("None"))
    ctx.execute()
    pairs = ctx.stream_kafka(servers, "counts", record=True).map(lambda record: (record.key, record.value))
    return {
        "raw": [each.hex() for each in sorted(ctx.stream_kafka(servers, "raw", value=bytes).collect())],
        "raw as text": failure(lambda: ctx.stream_kafka(servers, "raw").collect()),
        "objects": sorted(ctx.stream_kafka(servers, "objects").collect()),
        "counts": sorted(pairs.collect()),
        "tombstone": ctx.stream_kafka(servers, "gone", value=str | None).collect(),
        "tombstone as text": failure(lambda: ctx.stream_kafka(servers, "gone", record=True).collect()),
        "both": sorted(ctx.stream_kafka(servers, ["objects", "counts"]).collect()),
        "unread": ctx.stream_kafka(servers, ["gone"], record=True).map(lambda record: record.offset).collect(),
    }


def failures(ctx: mo.StreamContext, servers: str, _: Path) -> Any:
    """What goes wrong outside of the records."""
    large = [1, 2, 3, 2**62]  # times four is beyond 64 bits: the native form fails, and Python continues
    ctx.stream_iter(large).write_kafka(servers, "large", value=lambda n: str(n * 4))
    ctx.execute()
    quick = {"default.api.timeout.ms": 2000, "request.timeout.ms": 1000, "client.id": "tulip-garden"}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        ctx.stream_kafka(servers, "large", options=quick).explain(detail=True)
        ctx.stream_kafka(servers, "large", options=quick, unbounded=True).explain(detail=True)
    ctx.stream_iter(["x"]).write_kafka(servers, "large", options={"acks": "tulip-garden"})
    return {
        "large": sorted(ctx.stream_kafka(servers, "large").collect()),
        "moved": len(ctx.metrics()["moved_to_python"]),
        "no topic": failure(lambda: ctx.stream_kafka(servers, "nothing").collect()),
        "no broker": failure(lambda: ctx.stream_kafka("127.0.0.1:9", "large", options=quick).collect()),
        "explained": "Kafka" in said.getvalue() and "tulip-garden" not in said.getvalue(),
        "bad setting": failure(ctx.execute),
    }


def failure(run: Callable[[], Any]) -> str:
    try:
        run()
    except mo.MorisotError as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def followed(_: mo.StreamContext, servers: str, directory: Path) -> Any:
    """A topic is followed into files and into another topic; the job is stopped, and resumes."""
    rounds = [run_once(servers, directory, [f"line {n}" for n in range(12)])]
    rounds.append(run_once(servers, directory, [f"line {n}" for n in range(12, 20)], items=2))
    with mo.StreamContext(config=CONFIG) as ctx:
        totals = ctx.stream_kafka(servers, "totals", record=True).map(lambda record: (record.key, record.value))
        return {
            "rounds": rounds,
            "files": sorted(ctx.stream_file(directory / "out").collect()),
            "copies": sorted(ctx.stream_kafka(servers, "copies").collect()),
            "totals": totals.collect(),
        }


def run_once(servers: str, directory: Path, lines: list[str], **settings: Any) -> Any:
    """Write some lines, then run the job until it has caught up."""
    with mo.StreamContext(config=CONFIG) as ctx:
        ctx.stream_iter(lines).write_kafka(servers, "lines", key=lambda line: line[-1])
        ctx.execute()
    with mo.StreamContext(config=CONFIG, snapshots=mo.Snapshots(directory / "saves", **settings)) as ctx:
        stream = ctx.stream_kafka(servers, "lines", unbounded=True, records_per_batch=6)
        stream.map(lambda line: line.upper()).write_text(str(directory / "out"))
        stream.filter(lambda line: line.endswith("1")).write_kafka(servers, "copies")  # in one query with the files
        keyed = stream.group_by(lambda line: line[-1])
        keyed.rich_map("", lambda seen, _, line: (seen + line[5:] + ";",) * 2, returns=str).write_kafka(
            servers, "totals"
        )
        job = ctx.start()
        job.catch_up()
        job.wait(0)
        metrics = job.metrics()
        job.stop()
        out, copies, totals = metrics["sinks"]
        return {
            "in": metrics["elements_in"],
            "out": (out["elements_out"], copies["elements_out"], totals["elements_out"]),
            "batches": out["batches"],
            "behind": sorted(out["behind"]),
            "offsets": job.snapshots()[-1].offsets,
        }


PROGRAMS: tuple[Program, ...] = (records, kinds, failures, followed)


def main(servers: str, where: str) -> None:
    directory = Path(where)
    said: dict[str, Any] = {}
    with mo.StreamContext(config=CONFIG) as ctx:  # holds the session, which the others share
        said["connector"] = failure(lambda: ctx.spark)
        if said["connector"] == "none":
            said |= {program.__name__: program(ctx, servers, directory) for program in PROGRAMS}
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
