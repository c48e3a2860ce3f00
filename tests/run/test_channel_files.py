"""Channel files, without Spark."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.engines.spark.streaming.channel_files import ChannelFiles
from morisot.types.element import INT


def elements_in(directory: Path) -> list[int]:
    """What the files hold, in the order in which a query reads them."""
    files = sorted(directory.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    assert [file.name for file in files] == sorted(file.name for file in files)
    tables: list[list[Any]] = [pq.read_table(file)["value"].to_pylist() for file in files]
    return [n for table in tables for n in table]


def names(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.glob("*.parquet"))


def test_everything_sent_is_there_in_order(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 1000)
    for start in range(0, 300, 100):
        spool.put(range(start, start + 100))
    spool.close()
    assert elements_in(tmp_path) == list(range(300))
    with pytest.raises(mo.PlanError, match="the channel is closed"):
        spool.put([1])


def test_files_hold_no_more_than_a_query_takes(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 1000)
    spool.limit(7)
    spool.limit(None)
    spool.put(range(20))
    spool.close()
    assert max(pq.read_metadata(file).num_rows for file in tmp_path.glob("*.parquet")) <= 7
    assert elements_in(tmp_path) == list(range(20))


def test_whoever_sends_too_fast_waits(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 10)
    spool.attach("query")
    sender = threading.Thread(target=spool.put, args=(range(15),))
    sender.start()
    while spool.backlog < 10:
        time.sleep(0.01)
    spool.flush()
    sender.join(0.3)
    assert sender.is_alive(), "five elements have no room yet"
    spool.take_note("query", names(tmp_path))
    sender.join(30)
    assert not sender.is_alive()
    spool.close()
    assert not spool.is_drained("query")
    spool.take_note("query", names(tmp_path))
    assert spool.is_drained("query")


def test_a_full_channel_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mo.PlanError, match=r"10 elements were sent into a channel that no job reads.*\n.*ctx.start"):
        ChannelFiles(tmp_path, INT, 10).put(range(11))


def test_a_file_goes_when_every_query_has_done_it(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 100)
    for reader in ("one", "two"):
        spool.attach(reader)
    spool.put([1])
    spool.flush()
    first = names(tmp_path)
    spool.take_note("one", first)
    assert names(tmp_path) == first
    spool.take_note("two", first)
    assert names(tmp_path) == []
    assert spool.backlog == 0


def test_no_file_goes_before_every_query_is_there(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 100)
    for reader in ("one", "two"):
        spool.expect(reader)
    spool.put([1])
    spool.close()
    spool.attach("one")
    spool.take_note("one", names(tmp_path))
    assert elements_in(tmp_path) == [1]
    spool.attach("two")
    assert spool.is_drained("one")
    assert not spool.is_drained("two")
    spool.detach("two")
    assert names(tmp_path) == []


def test_nobody_waits_for_a_query_that_did_not_start(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 100)
    for reader in ("one", "refused"):
        spool.expect(reader)
    spool.put([1])
    spool.close()
    spool.attach("one")
    spool.take_note("one", names(tmp_path))
    assert elements_in(tmp_path) == [1]
    spool.detach("refused")
    assert names(tmp_path) == []


def test_snapshots_may_ask_for_files_again(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 100, keep=2)
    spool.attach("query")
    for n in range(6):
        spool.put([n])
        spool.flush()
        spool.take_note("query", {names(tmp_path)[-1]})
    assert elements_in(tmp_path) == [3, 4, 5], "two snapshots, and the micro-batch after them"
    spool.remove()
    again = ChannelFiles(tmp_path, INT, 100, keep=2)
    again.attach("query", names(tmp_path)[:-1])
    again.put([6])
    again.close()
    assert elements_in(tmp_path) == [3, 4, 5, 6]
    assert not again.is_drained("query")


def test_without_snapshots_nothing_stays(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path / "channel", INT, 100)
    spool.put([1])
    spool.flush()
    spool.remove()
    assert not (tmp_path / "channel").exists()


@pytest.mark.parametrize(("metadata", "found"), [({b"morisot.format": b"2"}, "2"), (None, "None")])
def test_files_of_another_format_are_refused(metadata: dict[bytes, bytes] | None, found: str, tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 10)
    spool.put([1])  # two elements may be in two files
    spool.close()
    (file,) = tmp_path.glob("*.parquet")
    assert ChannelFiles(tmp_path, INT, 10).backlog == 1
    pq.write_table(pq.ParquetFile(file).read().replace_schema_metadata(metadata), file)
    said = f"{file} cannot be read: it has the format {found}, and this version of Morisot reads 1"
    with pytest.raises(mo.SnapshotError, match=said):
        ChannelFiles(tmp_path, INT, 10)


def test_the_file_of_the_end_has_no_elements_and_is_no_backlog(tmp_path: Path) -> None:
    spool = ChannelFiles(tmp_path, INT, 1000)
    spool.attach("query")
    spool.put(range(3))
    spool.close()
    assert not spool.is_drained("query")
    spool.take_note("query", names(tmp_path))
    assert spool.is_drained("query")
    spool.add_end()
    (end,) = names(tmp_path)
    assert (pq.read_metadata(tmp_path / end).num_rows, spool.backlog, spool.is_drained("query")) == (0, 0, True)
    spool.take_note("query", [end])
    assert names(tmp_path) == []
