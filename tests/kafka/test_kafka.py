"""Topics of a real broker, read and written; left out where Maven Central cannot be reached."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.kafka import broker

pytestmark = [pytest.mark.jvm, pytest.mark.program, pytest.mark.thorough]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the programs say: one process for all of them, since each would start a JVM of its own."""
    directory = tmp_path_factory.mktemp("kafka")
    try:
        jars = broker.fetch(broker.SERVER, directory / "jars")
        settings = broker.connector(directory)
    except broker.NoJars as reason:
        pytest.skip(str(reason))
    with broker.running(directory, jars) as servers:
        command = [sys.executable, "-m", "tests.kafka.programs", servers, str(directory)]
        done = subprocess.run(
            command, env={**broker.environment(), **settings}, capture_output=True, text=True, check=False, timeout=280
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "dependencies" not in done.stderr, "fetching a package is not told of"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "could not fetch" in found["connector"]:
        pytest.skip(found["connector"])
    assert found["connector"] == "none"
    return found


def test_what_is_written_is_read(said: dict[str, Any]) -> None:
    records = said["records"]["records"]
    assert sorted((int(value), key) for key, value, *_ in records) == [(n, str(n % 7)) for n in range(200)]
    assert said["records"]["classes"] == ["KafkaRecord"]
    assert {topic for _, _, topic, *_ in records} == {"numbers"}
    assert said["records"]["sum"] == [sum(range(200))]
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    assert all(
        abs(datetime.datetime.fromisoformat(time) - now) < datetime.timedelta(hours=1) for *_, time in records
    ), "in UTC"


def test_records_are_read_in_the_order_of_partitions_and_offsets(said: dict[str, Any]) -> None:
    records = said["records"]["records"]
    places = [(partition, offset) for _, _, _, partition, offset, _ in records]
    assert places == sorted(places)
    assert {partition for partition, _ in places} == {0, 1}
    assert said["records"]["values"] == [int(value) for _, value, *_ in records]


def test_records_of_a_key_are_written_in_the_streams_order(said: dict[str, Any]) -> None:
    for key in range(7):
        assert [int(v) for k, v, *_ in said["records"]["records"] if k == str(key)] == list(range(key, 200, 7))


def test_a_record_is_columns(said: dict[str, Any]) -> None:
    first = [record for record in said["records"]["records"] if record[3] == 0][:2]
    year = datetime.datetime.now(datetime.UTC).year
    assert [row[:2] for row in said["records"]["columns"]] == [[record[4], record[0]] for record in first]
    assert all(abs(row[2] - year) <= 1 for row in said["records"]["columns"])


def test_other_kinds_of_values(said: dict[str, Any]) -> None:
    kinds = said["kinds"]
    assert kinds["raw"] == [b"plain".hex(), b"\xff\x00".hex()]
    assert kinds["objects"] == ['{"n": 1}', '{"n": 2}']
    assert kinds["counts"] == [["a", "a 2"], ["b", "b 1"]]
    assert kinds["both"] == sorted(['{"n": 1}', '{"n": 2}', "a 2", "b 1"])
    assert kinds["tombstone"] == [None]
    assert kinds["unread"] == [0], "a value that is not read fails no job"


def test_a_record_that_does_not_fit_is_named(said: dict[str, Any]) -> None:
    text, missing = said["kinds"]["raw as text"], said["kinds"]["tombstone as text"]
    assert text.startswith("SourceError: stream_kafka (tests/kafka/programs.py:")
    assert "of raw has a value that is no text in UTF-8; read it with value=bytes" in text
    assert missing.startswith("SourceError: stream_kafka (tests/kafka/programs.py:")
    assert "the record at offset 0 of partition" in missing
    assert missing.endswith("of gone has no value; read it with value=str | None")


def test_nothing_is_written_twice_when_a_function_is_moved_to_python(said: dict[str, Any]) -> None:
    assert said["failures"]["moved"] == 1
    assert said["failures"]["large"] == sorted(str(n * 4) for n in (1, 2, 3, 2**62))


def test_what_is_not_there_is_said(said: dict[str, Any]) -> None:
    failures = said["failures"]
    assert failures["no topic"].startswith("SourceError: stream_kafka (tests/kafka/programs.py:")
    assert "finds no topic 'nothing' at 127.0.0.1:" in failures["no topic"]
    assert failures["no broker"].startswith("SourceError: stream_kafka (tests/kafka/programs.py:")
    assert "cannot read from 127.0.0.1:9: " in failures["no broker"]


def test_spark_shows_no_setting_either(said: dict[str, Any]) -> None:
    assert said["failures"]["explained"]
    assert said["failures"]["bad setting"].startswith("JobError")
    assert "tulip-garden" not in said["failures"]["bad setting"]


def test_a_followed_topic_goes_on_where_it_was(said: dict[str, Any]) -> None:
    followed = said["followed"]
    lines = [f"line {n}" for n in range(20)]
    assert followed["files"] == sorted(line.upper() for line in lines), "each once, in both rounds together"
    first, second = followed["rounds"]
    assert (first["out"], second["out"]) == ([12, 2, 12], [8, 0, 8])
    assert (first["in"], second["in"]) == (24, 16), "files and copies are one query, totals another"
    assert followed["copies"] == ["line 1", "line 11"]
    assert first["batches"] > 1, "no more than records_per_batch at a time"
    assert second["batches"] >= 4, "and no more than Snapshots(items=2)"
    assert "maxOffsetsBehindLatest" in first["behind"]
    (offsets,) = second["offsets"]
    assert sum(offsets["lines"].values()) == 20


def test_a_followed_topic_keeps_the_order_of_a_partition(said: dict[str, Any]) -> None:
    """A state sees the records of a key, which are in one partition, one after the other, over both rounds."""
    totals = said["followed"]["totals"]
    for key in map(str, range(10)):
        assert [total for each, total in totals if each == key] == [f"{key};", f"{key};1{key};"]
