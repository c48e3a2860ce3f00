"""Kills programs at random moments: `python -m tests.recovery.kill [--kills N] [--record FILE] [--shape NAME]`.

A shape is a program with fresh input. It is started, killed up to some times at random moments, also while it recovers
and twice within a second, and started again until it is done. What it wrote is compared with an undisturbed run. Most
runs are under `morisot run`, which starts the program again by itself; its supervisor is killed too, and then nothing
may be left when the next one has started the program. For each kill a JSON line is appended to the record: the seed of
the run, the commit, the shape, whether it was supervised, the victim, when it was killed, and the result of the run.
The next call continues with the next run of the record.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.postgres import server
from tests.recovery import bounded, programs, streams
from tests.recovery.processes import ROOT, Run, SupervisedRun, left

RECORD = ROOT / "tests" / "recovery" / "kills.jsonl"
LOOPS = ("primes", "replay", "sequence", "grouping")
MODULES = {
    **dict.fromkeys(streams.ALL, "streams"),
    **dict.fromkeys(bounded.PROGRAMS, "bounded"),
    **dict.fromkeys(LOOPS, "programs"),
}
"""The module of each shape."""
VICTIMS = {"everything": 2, "driver": 2, "JVM": 2, "worker": 4}
"""The victims, and how often each is chosen. A worker is replaced while the program runs."""
SUPERVISED_VICTIMS = {"everything": 1, "supervisor": 3, "driver": 2, "JVM": 2, "worker": 3}
_SUPERVISED = 0.7
"""The share of runs under a supervisor."""
_LONGEST_WAIT = 9.0
"""Seconds from the start of a job to a kill, at most."""
_RECOVERY = 6.0
"""The seconds that a program takes to start, before the first one has started."""
_AGAIN = 0.3
"""The share of kills that are followed by another one within a second."""
_PATIENCE = 3.0
"""Seconds to wait for a worker."""
_MOST_STARTS = 25
_FILES = 5


@dataclass
class Disturbed:
    """One run of a shape."""

    shape: str
    directory: Path
    chance: random.Random
    kills: list[dict[str, Any]] = field(default_factory=list)
    supervised: bool = False
    recovery: float = _RECOVERY
    """The seconds that the last start of the program took until its job ran."""
    left: list[str] = field(default_factory=list)
    """What killed supervisors have left."""

    def to_the_end(self, most: int) -> Any:
        """Kills the program up to `most` times. Returns its last result."""
        for _ in range(_MOST_STARTS):
            kind = SupervisedRun if self.supervised else Run
            run = kind(self.shape, self.directory, *self._arguments, module=MODULES[self.shape])
            if not self._is_killed(run, most):
                self._look_for_rests(run)
                with contextlib.suppress(AssertionError):
                    result = run.result()
                    self.left += left(self.directory) if self.supervised else []
                    return result
                if not self.kills:
                    raise AssertionError((self.directory / "errors.txt").read_text()[-3000:])
        raise AssertionError(f"{self.shape} did not end in {_MOST_STARTS} starts")

    @property
    def _arguments(self) -> list[str]:
        """The arguments of a loop differ: it does not kill itself."""
        return [""] if MODULES[self.shape] == "programs" else []

    def _is_killed(self, run: Run, most: int) -> bool:
        """Kills the program, or not. Returns whether it must be started again."""
        began = time.monotonic()
        while len(self.kills) < most:
            last = self.kills[-1] if self.kills else None
            is_second = last is not None and last.pop("again", False)
            if is_second:
                moment, seconds = "within a second", self.chance.uniform(0, 0.9)
            elif run.started or self.chance.random() < 0.6:
                if not run.started:
                    if not run.has_started():
                        return False
                    self.recovery = time.monotonic() - began
                    self._look_for_rests(run)
                moment, seconds = "running", self.chance.uniform(0, 1) ** 2 * _LONGEST_WAIT
            else:
                moment = "recovering" if self.kills else "starting"
                seconds = self.chance.uniform(0.2, 1.2 * self.recovery)
            time.sleep(seconds)
            if run.process.poll() is not None:
                return False
            victim = self._victim(is_second=is_second)
            if self._kill(run, victim):
                self.kills.append({"victim": victim, "moment": moment, "again": self.chance.random() < _AGAIN})
                began = time.monotonic()
                if run.process.poll() is not None:
                    return True
        return False

    def _victim(self, *, is_second: bool) -> str:
        victims = SUPERVISED_VICTIMS if self.supervised else VICTIMS
        if is_second:  # a worker may not be there within a second, and nothing below an ended driver or JVM
            victims = {"everything": 1, "supervisor": 1} if self.supervised else {"everything": 1}
        return self.chance.choices([*victims], [*victims.values()])[0]

    def _kill(self, run: Run, victim: str) -> bool:
        """Kills a process of the program. Returns whether there was one."""
        if victim == "worker":
            return run.kill_worker_soon(_PATIENCE)
        if victim == "JVM":
            return run.kill_jvm()
        if victim == "driver" and isinstance(run, SupervisedRun):
            return run.kill_program()
        run.kill(alone=victim in ("driver", "supervisor"))
        return True

    def _look_for_rests(self, run: Run) -> None:
        """Notes what killed supervisors have left, when the program of the present one has started."""
        if self.supervised and run.has_started():
            self.left += left(self.directory, run.process.pid)


def verdict(shape: str, directory: Path, result: Any) -> str:
    """The result of a run: `right`, or the numbers of lost and of doubled elements."""
    if MODULES[shape] == "streams":
        found, wanted = streams.written(shape, directory), streams.expected(shape, streams.lines_of(directory))
    elif MODULES[shape] == "bounded":
        found, wanted = result, bounded.expected(shape, directory)
    else:
        found, wanted = result["result"], programs.expected(shape)
    if found == wanted:
        return "right"
    have, want = (Counter(map(repr, flat(each))) for each in (found, wanted))
    return f"{(want - have).total()} lost, {(have - want).total()} doubled"


def flat(value: Any) -> Iterable[Any]:
    """The elements of several sinks."""
    if isinstance(value, list):
        for each in value:
            yield from flat(each)
    else:
        yield value


def one_run(number: int, shape: str, most: int) -> list[dict[str, Any]]:
    """The lines of one run."""
    chance = random.Random(number)
    with tempfile.TemporaryDirectory(prefix=f"kill-{shape}-") as place:
        directory = Path(place)
        streams.write_input(directory, _FILES)
        if shape in streams.ON_SERVER:
            streams.create_table(directory)
        run = Disturbed(shape, directory, chance, supervised=chance.random() < _SUPERVISED)
        try:
            result = run.to_the_end(chance.randint((most + 1) // 2, most))
            said = verdict(shape, directory, result)
            if run.left:
                said += f", left: {', '.join(run.left)}"
        finally:
            end_all(directory)
    common = {"seed": number, "commit": commit(), "shape": shape, "supervised": run.supervised}
    return [{**common, "victim": kill["victim"], "moment": kill["moment"], "result": said} for kill in run.kills]


def end_all(directory: Path) -> None:
    """Ends what a killed program has left, which has the directory in its command or environment."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and str(directory) in " ".join(process.cmdline()):
                process.kill()


def commit() -> str:
    """The revision, with a mark if files of the package differ."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "src") else "")


def recorded(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def summary(lines: list[dict[str, Any]]) -> str:
    """The counts of a record."""
    wrong = [line for line in lines if line["result"] != "right"]
    parts = [f"{len(lines)} kills in {len({line['seed'] for line in lines})} runs, {len(wrong)} with a wrong result"]
    for key in ("victim", "moment", "shape"):
        counts = Counter(line[key] for line in lines)
        parts.append(f"by {key}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20, help="the number of kills of this call")
    parser.add_argument("--most", type=int, default=9, help="kills of one program")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--shape", choices=sorted(MODULES), action="append")
    arguments = parser.parse_args()
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    shapes = arguments.shape or list(MODULES)
    kills = wrong = 0
    number = max((line["seed"] for line in recorded(arguments.record)), default=-1) + 1
    with server() as conninfo:
        os.environ[streams.SERVER] = conninfo
        while kills < arguments.kills:
            shape = shapes[number % len(shapes)]
            lines = one_run(number, shape, arguments.most)
            with arguments.record.open("a") as record:
                record.writelines(json.dumps(line) + "\n" for line in lines)
            kills += len(lines)
            wrong += sum(line["result"] != "right" for line in lines)
            said = ", ".join(f"{line['victim']} ({line['moment']})" for line in lines) or "no kill"
            print(f"{number:4} {shape:16} {lines[0]['result'] if lines else 'undisturbed'}: {said}", flush=True)
            number += 1
    print(summary(recorded(arguments.record)))
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
