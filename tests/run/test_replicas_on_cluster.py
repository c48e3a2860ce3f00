"""Replicas on a cluster of two executors, of which one is lost: stores, callbacks, states and placement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = [pytest.mark.program, pytest.mark.unbounded, pytest.mark.thorough]
PROGRAM = '''
import json, os, sys, time
from pathlib import Path

import psutil

import morisot as mo


class Counting(mo.Operator[int, tuple[int, int]]):
    """Counts the elements of its replica, and notes when it begins and which snapshots are complete."""

    def __init__(self, directory):
        self.directory = directory

    def note(self, *words):
        with open(f"{self.directory}/{self.instance}-{os.getpid()}", "a") as calls:
            calls.write(" ".join(map(str, words)) + "\\n")

    def on_init(self, replica):
        self.instance = replica.instance
        self.note("init")

    def process(self, element, message):
        self.store["seen"] = self.store.get("seen", 0) + 1
        yield element, self.store["seen"]

    def on_global_snapshot(self, snapshot):
        self.note("global", snapshot)


def add_file(number):
    file = Path("in") / f"{number}.txt"
    file.write_text("".join(f"{10 * number + n}\\n" for n in range(10)))
    os.utime(file, (number + 1, number + 1))


def executor_of(pid):
    """The JVM of a Python worker."""
    return next(each for each in psutil.Process(pid).parents() if "java" in each.name())


found = []
Path("in").mkdir()
Path("calls").mkdir()
for number in range(3):
    add_file(number)
config = mo.Config(master="local-cluster[2,1,1024]", parallelism=2, progress=False, report=False)
with mo.StreamContext(config=config, snapshots="saves") as ctx:
    lines = ctx.stream_file("in", unbounded=True, files_per_batch=1)
    numbers = lines.map(lambda line: int(line))
    numbers.apply(Counting(os.path.abspath("calls")), replicate=2).for_each(found.append)
    job = ctx.start()
    job.catch_up()
    before = [each._asdict() for each in job.placement()]
    executors = {each["instance"]: executor_of(each["pid"]) for each in before}
    executors[1].kill()
    for number in range(3, 6):
        add_file(number)
    job.catch_up()
    after = [each._asdict() for each in job.placement()]
    state = sorted(job.state("apply"))
    time.sleep(1)
    job.stop()
    lost = executors[1].pid
    alive = [each for each in after if psutil.pid_exists(each["pid"])]
print(json.dumps({"found": found, "before": before, "after": after, "alive": alive, "state": state, "lost": lost}))
'''


def test_a_lost_executor(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, str(program)]
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}  # of the executors
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["found"] == [[n, n // 2 + 1] for n in range(60)], "each element once, with the counts of its replica"
    assert result["state"] == [[0, {"seen": 30}], [1, {"seen": 30}]]
    pids = {kind: {each["pid"] for each in result[kind] if each["instance"] == 1} for kind in ("before", "after")}
    assert pids["after"] > pids["before"], "the replica continues in another process"
    calls = [file.read_text().splitlines() for file in (tmp_path / "calls").iterdir()]
    assert all(each[0] == "init" and each.count("init") == 1 for each in calls)
    later = [each for each in calls if each[1:2] == ["global 2"] or each[1:2] == ["global 3"]]
    assert later, "a new replica hears of the last complete snapshot before its first element"
