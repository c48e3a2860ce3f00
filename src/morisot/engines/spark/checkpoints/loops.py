"""Snapshots of loops on disk: written atomically, numbered through the job, with the oldest ones removed.

A snapshot of a loop is a directory that gets its final name when everything in it is written: the state, and for a
loop with feedback the elements. Loops inside a round of another loop have their snapshots inside that loop's
directory. They are removed when the outer loop has saved a later round. The elements that enter every round of a loop
without feedback are saved once, with its first snapshot: the work before the loop is not repeated.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from morisot.engines.spark.checkpoints.snapshot_files import Digest, check_manifest, write_manifest
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.errors import ConfigError, SinkError, SnapshotError
from morisot.plan.nodes.node import Node
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.private import private_directory, private_file
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.snapshot_lag import SnapshotLag
from morisot.types.element import Type
from morisot.worker.codec.stored import Layout, loose_form_of

_NAME = re.compile(r"snapshot-(\d+)-round-(\d+)")
_INSIDE = re.compile(r"inside-(\d+)")
_STATE, _INPUT = "state", "input"


@dataclass(frozen=True)
class Saved:
    """An existing snapshot."""

    directory: Path
    number: int
    round: int
    over: bool
    """Whether the loop has ended."""
    state: Any

    @property
    def parts(self) -> tuple[str, ...]:
        """The files with the elements of each task, in order."""
        return tuple(sorted(str(file) for file in self.directory.glob("part-*")))

    @property
    def elements(self) -> str:
        """The directory with the elements of a loop that runs as a job for each round."""
        return str(self.directory / "elements")


class SnapshotStore:
    """The snapshots of one engine. The first run of each loop resumes from them."""

    def __init__(self, settings: Snapshots) -> None:
        self.settings = settings
        self._root = Path(settings.path) / "loops"
        self._last = 0
        self._runs: Counter[Path] = Counter()
        self._jobs: MutableMapping[object, dict[tuple[Path, Node], Path]] = weakref.WeakKeyDictionary()
        """The directories of the loops that a job has run. A retry of the job resumes from them."""
        self._around: list[Path] = []
        self._prepared = False

    def prepare(self) -> None:
        """Removes the snapshots that are not resumed from, and incomplete ones."""
        if self._prepared:
            return
        self._prepared = True
        try:
            private_directory(self._root)
        except OSError as error:
            raise SinkError(f"snapshots cannot be written to {self._root}: {error.strerror}") from None
        restart = self.settings.restart
        if type(restart) is int:
            self._refuse_missing(restart)
        for directory in sorted(self._root.rglob("*"), reverse=True):
            found = _NAME.fullmatch(directory.name)
            number = int(found[1]) if found else 0
            if directory.name.startswith(".writing-") or (
                found and (restart is None or (restart != "latest" and number > int(restart)))
            ):
                shutil.rmtree(directory, ignore_errors=True)
            else:
                self._last = max(self._last, number)

    def _refuse_missing(self, number: int) -> None:
        """Raises an error for a snapshot that does not exist, unless the number is one of another kind of job."""
        there = self.numbers()
        others = any((self._root.parent / kind).is_dir() for kind in ("streams", "bounded"))
        if number not in there and not others:
            known = f"there are {', '.join(map(str, there))}" if there else "there is none yet"
            raise ConfigError(f"restart is {number}: the loops have no such snapshot in {self._root}; {known}.")

    def of_loop(self, node: Node, job: object) -> LoopSaves:
        """The snapshots of a run of a loop, identified by its line and the number of the run.

        If a job fails and is retried, the run of its loop is the same one. `job` is the key of the job.
        """
        self.prepare()
        if not self._around:  # another program may have used the directory since the last loop of this one
            self._last = max(self._last, *self.numbers(), 0)
        around = self._around[-1] if self._around else self._root
        directories = self._jobs.setdefault(job, {})
        if (around, node) not in directories:
            name = re.sub(r"[^\w.]+", "-", f"{node.operator}-{Path(node.location.file).name}-{node.location.line}")
            directories[around, node] = around / f"{name}-{self._runs[around / name]}"
            self._runs[around / name] += 1
        return LoopSaves(self, directories[around, node], node.type)

    @contextlib.contextmanager
    def inside(self, saves: LoopSaves, number: int) -> Iterator[None]:
        """Saves loops that run in the block as those of a round of the loop."""
        self._around.append(saves.directory / f"inside-{number}")
        try:
            yield
        finally:
            self._around.pop()

    @property
    def last_number(self) -> int:
        """The number of the last snapshot."""
        return self._last

    def next_number(self) -> int:
        self._last += 1
        return self._last

    def numbers(self) -> list[int]:
        """The numbers of all snapshots."""
        names = (_NAME.fullmatch(directory.name) for directory in self._root.rglob("snapshot-*"))
        return sorted(int(found[1]) for found in names if found)

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, by number."""
        found = ((_NAME.fullmatch(directory.name), directory) for directory in self._root.rglob("snapshot-*"))
        records = [
            Snapshot(int(match[1]), directory.parent.name, _made(directory)) for match, directory in found if match
        ]
        return sorted(records, key=lambda record: record.id)

    def clean(self) -> None:
        """Removes all snapshots."""
        shutil.rmtree(self._root, ignore_errors=True)


class LoopSaves:
    """The snapshots of one run of a loop."""

    def __init__(self, store: SnapshotStore, directory: Path, type_: Type) -> None:
        self.store = store
        self._layout = Layout("loop", 1, loose_form_of(type_))
        self.directory = directory
        self._round = 0
        self._items = 0
        self._when = time.monotonic()
        self._lag = SnapshotLag(directory.name, store.settings.seconds)
        self.input: Path | None = None
        """The directory of the saved input, if it is that of the latest snapshot, or of this run."""

    def latest(self) -> Saved | None:
        """The last undamaged snapshot. A damaged one is an error if the user selected it, or if there is no other."""
        problem: SnapshotError | None = None
        for name, number, round_ in reversed(self._there()):
            try:
                over, state = self._read_state(name)
            except SnapshotError as error:
                if number == self.store.settings.restart:
                    raise
                problem = problem or error
                continue
            if problem is not None:
                warnings.warn(f"{problem}\n  The loop resumes from {name}.", RuntimeWarning, stacklevel=2)
            self._round = round_
            self.input = self._saved_input()
            ACTIVITY.note_resume(f"{self.directory.name}:{number}")
            return Saved(name, number, round_, over, state)
        if problem is not None:
            raise problem
        ACTIVITY.note_resume(None)
        return None

    def _saved_input(self) -> Path | None:
        """The saved input. If it is damaged, the work before the loop is repeated."""
        directory = self.directory / _INPUT
        if not directory.is_dir():
            return None
        try:
            check_manifest(directory, "loop input")
        except SnapshotError as error:
            warnings.warn(f"{error}\n  The work before the loop is repeated.", RuntimeWarning, stacklevel=2)
            return None
        return directory

    def _read_state(self, snapshot: Path) -> tuple[bool, Any]:
        """Whether the loop has ended, and its state. Digests are compared before anything is unpickled."""
        check_manifest(snapshot, "loop")
        try:
            return self._layout.unpacked((snapshot / _STATE).read_bytes())
        except SnapshotError as error:
            raise SnapshotError(f"{snapshot / _STATE} cannot be used: {error.what}", advice=error.advice) from error

    def _there(self) -> list[tuple[Path, int, int]]:
        if not self.directory.is_dir():
            return []
        found = ((name, _NAME.fullmatch(name.name)) for name in self.directory.iterdir())
        return sorted(((n, int(m[1]), int(m[2])) for n, m in found if m), key=lambda each: each[1])

    def should_save(self, round_: int, items: int, over: bool) -> bool:
        """Whether to save the loop now. The end of a loop is always saved."""
        settings = self.store.settings
        self._items += items
        if over or (settings.seconds, settings.items, settings.rounds) == (None, None, None):
            return True
        return (
            (settings.rounds is not None and round_ - self._round >= settings.rounds)
            or (settings.items is not None and self._items >= settings.items)
            or (settings.seconds is not None and time.monotonic() - self._when >= settings.seconds)
        )

    def begin_input(self) -> Path:
        """A new directory for the files of the input."""
        return self.begin(_INPUT)

    def commit_input(self, writing: Path, known: Mapping[str, Digest] | None = None) -> None:
        """Writes the manifest, then renames the directory to that of the input."""
        try:
            write_manifest(writing, "loop input", known)
            shutil.rmtree(self.directory / _INPUT, ignore_errors=True)
            self.input = writing.rename(self.directory / _INPUT)
            _sync(self.directory)
        except OSError as error:
            raise SinkError(f"a snapshot cannot be written to {writing}: {error.strerror}") from None

    def begin(self, round_: int | str) -> Path:
        """A new directory for the files of a snapshot."""
        writing = self.directory / f".writing-{os.getpid()}-{round_}"
        try:
            shutil.rmtree(writing, ignore_errors=True)
            private_directory(writing)
        except OSError as error:
            raise SinkError(f"a snapshot cannot be written to {writing}: {error.strerror}") from None
        return writing

    def commit(
        self, writing: Path, round_: int, over: bool, state: Any, known: Mapping[str, Digest] | None = None
    ) -> None:
        """Writes the state and the manifest, then renames the directory to the name of the snapshot.

        `known` has the digests of files that tasks wrote.
        """
        try:
            with private_file(writing / _STATE) as file:
                file.write(self._layout.packed(over, state, dumps))
                file.flush()
                os.fsync(file.fileno())
            write_manifest(writing, "loop", known)
            name = self.directory / f"snapshot-{self.store.next_number():06}-round-{round_:06}"
            shutil.rmtree(name, ignore_errors=True)
            writing.rename(name)
            _sync(self.directory)
        except OSError as error:
            raise SinkError(f"a snapshot cannot be written to {writing}: {error.strerror}") from None
        self._lag.note(time.monotonic() - self._when)
        self._round, self._items, self._when = round_, 0, time.monotonic()
        self._drop_old(round_)
        ACTIVITY.note_snapshot(f"{self.directory.name}:{self.store.last_number}")

    def _drop_old(self, round_: int) -> None:
        for name, _, _ in self._there()[: -self.store.settings.keep]:
            shutil.rmtree(name, ignore_errors=True)
        oldest = min((saved for _, _, saved in self._there()), default=round_)
        for directory in self.directory.glob("inside-*"):
            found = _INSIDE.fullmatch(directory.name)
            if found and int(found[1]) <= oldest:
                shutil.rmtree(directory, ignore_errors=True)


def _made(directory: Path) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(directory.stat().st_mtime, datetime.UTC)


def _sync(directory: Path) -> None:
    """Syncs a directory, so that a rename is durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
