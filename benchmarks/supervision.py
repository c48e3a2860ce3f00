"""Times of the supervisor: `python -m benchmarks.supervision [--spark]`.

Detection of an exit, of a stuck process and of a stall; the start of the command line; with `--spark` the time from a
kill to the first new result. After each measurement nothing may be left: processes, sockets, temporary files.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from morisot.supervision.attempts import SupervisionReport
from morisot.supervision.control import NoSupervisor, ask

HEARTBEAT, STALL = 0.5, 3.0
STUCK = "import os, signal, time\ntime.sleep(1)\nopen('at', 'w').write(str(time.time()))\n"
PROGRAMS = {
    "exit": STUCK + "os._exit(3)",
    "killed": STUCK + "os.kill(os.getpid(), signal.SIGKILL)",
    "stopped": STUCK + "os.kill(os.getpid(), signal.SIGSTOP)",
    "lock held": STUCK + "import ctypes\nctypes.PyDLL(None).sleep(600)",
    "stalled": STUCK + "from morisot.runtime.activity import ACTIVITY\nwith ACTIVITY.working():\n    time.sleep(600)",
}
WORD_COUNT = """
import os, time
import morisot as mo

def words(line):
    time.sleep(0.2)
    return line.split()

config = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False, max_retries={retries})
with mo.StreamContext(config=config) as ctx:
    lines = ctx.stream_file(os.path.abspath("pages"))
    print(len(lines.flat_map(words).group_by_count(lambda word: word).collect()))
"""


def run(directory: Path, *options: str) -> subprocess.Popen[bytes]:
    (directory / "tmp").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "morisot.cli.main", "run", "--report", "report.json", *options, "program.py"]
    environ = {**os.environ, "TMPDIR": str(directory / "tmp")}
    return subprocess.Popen(command, cwd=directory, env=environ, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def directory_of(program: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="morisot-bench-") as name:
        (Path(name) / "program.py").write_text(program)
        yield Path(name)


def left(directory: Path) -> list[str]:
    """What an ended supervisor has left."""
    found = [*map(str, (directory / "tmp").iterdir()), *map(str, directory.rglob("*.sock"))]
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str((process / "cwd").readlink()).startswith(str(directory)):
                found.append(process.name)
    return found


def detection(program: str) -> float:
    """Seconds from the event to its detection."""
    with directory_of(program) as directory:
        options = ("--max-retries", "0", "--heartbeat", f"{HEARTBEAT * 1000:.0f}ms", "--stall", f"{STALL:.0f}s")
        run(directory, *options).wait()
        (attempt,) = SupervisionReport.read(directory / "report.json").attempts
        assert not left(directory), left(directory)
        return attempt.ended.timestamp() - float((directory / "at").read_text())


def recovery(victim: str) -> tuple[float, float]:
    """Seconds from a kill to the first new result, and from a start to the first result."""
    with directory_of(WORD_COUNT.format(retries=0)) as directory:
        (directory / "pages").mkdir()
        for number in range(12):
            (directory / "pages" / f"{number}.txt").write_text("to be or not to be\n" * 4)
        saves = directory / "saves"
        began = time.monotonic()
        process = run(directory, "--snapshots", str(saves), "--items", "1")
        while not any(saves.glob("bounded/*/part-0/spark/commits/1")):
            assert process.poll() is None, "the program has ended"
            time.sleep(0.01)
        started = time.monotonic() - began
        with contextlib.suppress(NoSupervisor):
            os.kill(_victim(victim, ask(saves, {"command": "status"})["child"]), signal.SIGKILL)
        process.wait()
        report = SupervisionReport.read(directory / "report.json")
        assert report.exit_code == 0, report.table()
        assert not left(directory), left(directory)
        recovered = report.attempts[-1].recovered_after
        assert recovered is not None
        return recovered, started


def _victim(kind: str, child: int) -> int:
    if kind == "driver":
        return child
    children = Path(f"/proc/{child}/task/{child}/children").read_text().split()
    return next(int(each) for each in children if b"java" in Path(f"/proc/{each}/cmdline").read_bytes())


def help_seconds() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "morisot.cli.main", "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spark", action="store_true", help="also measure the recovery of a job on Spark")
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    print(f"morisot --help: {statistics.median(help_seconds() for _ in range(2 * given.times)):.3f} s (median)")
    limits = {"exit": 0.2, "killed": 0.2, "stopped": 3 * HEARTBEAT, "lock held": 3 * HEARTBEAT, "stalled": STALL}
    print(f"heartbeat {HEARTBEAT} s, stall {STALL} s; detection in seconds, median and maximum of {given.times}")
    for name, program in PROGRAMS.items():
        found = [detection(program) for _ in range(given.times)]
        print(f"  {name:10} {statistics.median(found):6.3f} {max(found):6.3f}   limit {limits[name]:g}")
    if given.spark:
        for victim in ("driver", "JVM"):
            recovered, started = recovery(victim)
            print(f"  {victim} killed: first new result after {recovered:.1f} s; the first start took {started:.1f} s")
    print("nothing was left")


if __name__ == "__main__":
    main()
