"""The records of two-phase sinks, beside the checkpoint of their query."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path

from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.private import private_directory
from morisot.runtime.snapshot_errors import missing
from morisot.runtime.two_phase import SinkRecord


class SinkFiles:
    """The record of one sink, and a file of receipts for each retained batch, in a private directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / "record.json"

    def read(self) -> SinkRecord | None:
        """The record; None if the sink has none yet."""
        found: dict[str, int | None] | None = read_record(self._file, "sink", lambda: None)
        return None if found is None else SinkRecord(**found)  # type: ignore[arg-type]

    def is_new(self, *, has_started: bool) -> bool:
        """Whether there is no record yet. Raises an error if it is missing although a batch was started."""
        if not self._file.exists() and has_started:
            raise missing(self._file)
        return not self._file.exists()

    def write(self, record: SinkRecord) -> None:
        private_directory(self._directory)
        write_record(self._file, "sink", dataclasses.asdict(record))

    def write_receipts(self, batch: int, receipts: Sequence[bytes]) -> None:
        """Stores the pickled receipts of a prepared batch."""
        write_record(self._receipts_of(batch), "receipts", [base64.b64encode(each).decode() for each in receipts])

    def receipts(self, batch: int, *, prepared: bool) -> list[bytes]:
        """The pickled receipts of a batch. They may be missing if it was not prepared. Their digest is compared."""
        found: list[str] = read_record(self._receipts_of(batch), "receipts", None if prepared else list)
        return [base64.b64decode(each) for each in found]

    def forget_receipts(self, retained: Collection[int]) -> None:
        """Removes the receipts of other batches."""
        for file in self._directory.glob("receipts-*.json"):
            if int(file.stem.removeprefix("receipts-")) not in retained:
                file.unlink(missing_ok=True)

    def write_store(self, batch: int, store: bytes) -> None:
        """Saves the pickled key store after a batch."""
        private_directory(self._directory)
        write_record(self._store_of(batch), "sink store", base64.b64encode(store).decode())

    def restored_store(self, last: int) -> bytes | None:
        """The key store after a batch or the last one before; None if there is none. Later ones are removed."""
        batches = self._stores()
        for batch in batches:
            if batch > last:
                self._store_of(batch).unlink(missing_ok=True)
        newest = max((batch for batch in batches if batch <= last), default=None)
        return None if newest is None else base64.b64decode(read_record(self._store_of(newest), "sink store"))

    def forget_stores(self, *, before: int) -> None:
        """Removes the key stores that no snapshot from a batch on needs."""
        older = sorted(batch for batch in self._stores() if batch <= before)
        for batch in older[:-1]:
            self._store_of(batch).unlink(missing_ok=True)

    def _stores(self) -> list[int]:
        return [int(file.stem.removeprefix("store-")) for file in self._directory.glob("store-*.json")]

    def _store_of(self, batch: int) -> Path:
        return self._directory / f"store-{batch}.json"

    def _receipts_of(self, batch: int) -> Path:
        return self._directory / f"receipts-{batch}.json"
