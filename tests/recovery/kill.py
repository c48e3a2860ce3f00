"""Kill programs again and again: `python -m tests.recovery.kill [--times N] [--most K] [--seed S] [--program NAME]`.

Each time a program, one after the other, is started on fresh input, killed up to K times at random moments (everything
at once, only the driver, or one Python worker), started again until it is done, and what it wrote is compared with an
undisturbed run.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.recovery import bounded, streams
from tests.recovery.processes import Run

_LONGEST_KILL = 12.0
"""Seconds from the start of a job to its end by force, at most."""


def disturbed(name: str, directory: Path, chance: random.Random, most: int) -> tuple[list[str], bool]:
    """What was done to a program before it came to its end, and whether that was the end of an undisturbed run."""
    done: list[str] = []
    while True:
        run = Run(name, directory, module="bounded" if name in bounded.PROGRAMS else "streams")
        killed = run.has_started() and _is_killed(run, done, chance, most)
        if not killed:
            return done, is_right(name, directory, run.result())


def _is_killed(run: Run, done: list[str], chance: random.Random, most: int) -> bool:
    """Disturb a program, and note how; whether that ended it. A worker is replaced while the program runs."""
    while len(done) < most:
        time.sleep(chance.uniform(0, _LONGEST_KILL))
        if run.process.poll() is not None:
            return False
        kind = chance.choice(["everything", "driver", "worker"])
        if kind != "worker":
            run.kill(alone=kind == "driver")
            done.append(kind)
            return True
        if run.kill_worker():
            done.append(kind)
    return False


def is_right(name: str, directory: Path, result: Any) -> bool:
    """Whether a program gave or wrote what an undisturbed run does."""
    if name in bounded.PROGRAMS:
        return bool(result == bounded.expected(name, directory))
    return streams.written(name, directory) == streams.expected(name, streams.lines_of(directory))


def main() -> None:
    assert not streams.PROGRAMS.keys() & bounded.PROGRAMS.keys(), "a name says which program it is"
    names = sorted({**streams.PROGRAMS, **bounded.PROGRAMS})
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--most", type=int, default=5, help="kills of one program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", choices=names)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    kills = wrong = 0
    for time_ in range(arguments.times):
        name = arguments.program or names[time_ % len(names)]
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            streams.write_input(directory)
            done, right = disturbed(name, directory, chance, arguments.most)
        kills += len(done)
        wrong += not right
        print(
            f"{time_ + 1:3} {name:10} {'right' if right else 'WRONG'} after {', '.join(done) or 'nothing'}", flush=True
        )
    print(f"{arguments.times} runs, {kills} kills, {wrong} with another output than an undisturbed run")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
