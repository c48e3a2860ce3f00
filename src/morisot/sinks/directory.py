"""A directory as a sink: a batch appears in it by one atomic rename."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from morisot.plan.endpoints import Sink, SinkPart
from morisot.private import make_directory, private_directory, private_file
from morisot.sinks.values import line_of
from morisot.types.replicas import Replica

T = TypeVar("T")


class Directory(Sink[T], commit="after_snapshot", parallel=True):
    """Writes lines into a directory, which the workers share: a directory `batch=<number>` for each micro-batch.

    Workers write the lines of their parts beside it, into `_staged`. A text is a line as it is, another element is
    JSON; `line` makes other lines. A batch appears by one rename, so it is complete. `roll_back` removes batches.

    >>> import morisot as mo
    >>> ctx = mo.StreamContext(engine="reference")
    >>> ctx.stream_iter([("a", 1), ("b", 2)]).write_to(mo.sinks.Directory("pairs"))
    """

    def __init__(self, path: str | os.PathLike[str], line: Callable[[T], str] = line_of) -> None:
        self._path = Path(path).absolute()
        self._line = line

    def on_init(self, place: Replica) -> None:  # noqa: ARG002 - the signature of the protocol
        """Creates the directories."""
        make_directory(self._path)
        private_directory(self._path / "_staged")

    def prepare(self, batch: int, elements: Sequence[T], part: SinkPart) -> str:
        """Writes the lines of a part. The receipt is the name of the file."""
        if self._batch(batch).exists():
            raise FileExistsError(f"{self._batch(batch)} is there already: give each job a directory of its own")
        staged = self._staged(batch)
        private_directory(staged)
        name = f"part-{part.instance:05}-{part.attempt}"
        with private_file(staged / name) as out:
            for element in elements:
                line = self._line(element)
                if "\n" in line:
                    raise ValueError(f"a line break in the line {line!r}")
                out.write(f"{line}\n".encode())
            _durable(out.fileno())
        return name

    def commit(self, batch: int, receipts: Sequence[str]) -> None:
        """Renames the directory of the batch, without the files of other attempts."""
        staged = self._staged(batch)
        if not receipts or (self._batch(batch).exists() and not staged.exists()):
            shutil.rmtree(staged, ignore_errors=True)
            return
        there = {file.name for file in staged.iterdir()} if staged.exists() else set()
        missing = sorted(set(receipts) - there)
        if missing:
            raise FileNotFoundError(f"prepared files are missing in {staged}: {', '.join(missing)}")
        for name in there - set(receipts):
            (staged / name).unlink()
        _synchronize(staged)
        staged.rename(self._batch(batch))
        _synchronize(self._path)

    def abort(self, batch: int, receipts: Sequence[str]) -> None:  # noqa: ARG002
        """Removes the files of the batch."""
        shutil.rmtree(self._staged(batch), ignore_errors=True)

    def roll_back(self, batch: int) -> None:
        """Removes later batches."""
        for directory in self._path.glob("batch=*"):
            number = directory.name.removeprefix("batch=")
            if number.isdigit() and int(number) > batch:
                shutil.rmtree(directory)

    def _batch(self, batch: int) -> Path:
        return self._path / f"batch={batch:09}"

    def _staged(self, batch: int) -> Path:
        return self._path / "_staged" / str(batch)

    def __repr__(self) -> str:
        return f"Directory({str(self._path)!r})"


def _durable(descriptor: Any) -> None:
    os.fsync(descriptor)


def _synchronize(directory: Path) -> None:
    """Makes the entries of a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
