"""Kill programs again and again: `python -m tests.recovery.kill [--times N] [--seed S] [--program NAME]`.

Each time a program is started on fresh input, killed at random moments (everything at once, only the driver, or one
Python worker), started again until it is done, and what it wrote is compared with an undisturbed run.
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


def disturbed(name: str, directory: Path, chance: random.Random) -> tuple[list[str], bool]:
    """What was done to a program before it came to its end, and whether that was the end of an undisturbed run."""
    done: list[str] = []
    while True:
        run = Run(name, directory, module="bounded" if name in bounded.PROGRAMS else "streams")
        kind = chance.choice(["everything", "driver", "worker", "nothing"]) if len(done) < 4 else "nothing"
        if run.has_started() and kind != "nothing":
            time.sleep(chance.uniform(0, _LONGEST_KILL))
            if run.process.poll() is None:
                done.append(kind)
                if kind != "worker":
                    run.kill(alone=kind == "driver")
                    continue
                run.kill_worker()
        return done, is_right(name, directory, run.result())


def is_right(name: str, directory: Path, result: Any) -> bool:
    """Whether a program gave or wrote what an undisturbed run does."""
    if name in bounded.PROGRAMS:
        return bool(result == bounded.expected(name, directory))
    return streams.written(name, directory) == streams.expected(name, streams.lines_of(directory))


def main() -> None:
    names = sorted({**streams.PROGRAMS, **bounded.PROGRAMS})
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", choices=names)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    kills = wrong = 0
    for time_ in range(arguments.times):
        name = arguments.program or chance.choice(names)
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            streams.write_input(directory)
            done, right = disturbed(name, directory, chance)
        kills += len(done)
        wrong += not right
        print(
            f"{time_ + 1:3} {name:10} {'right' if right else 'WRONG'} after {', '.join(done) or 'nothing'}", flush=True
        )
    print(f"{arguments.times} runs, {kills} kills, {wrong} with another output than an undisturbed run")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
