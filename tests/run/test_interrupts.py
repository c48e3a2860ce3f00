"""Ctrl-C and SIGTERM, in every phase of a program: what it raises, what stays, and that the context works again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from morisot.engines.spark.session import interrupt
from morisot.engines.spark.session.interrupt import anywhere, interruptible, was_interrupted
from morisot.engines.spark.session.scratch import remove_abandoned

ROOT = Path(__file__).parents[2]

# --- without Spark ---


@pytest.fixture
def pressed() -> Iterator[Callable[[float], None]]:
    """Press Ctrl-C after some seconds."""
    threads: list[threading.Thread] = []

    def press(seconds: float) -> None:
        threads.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)))
        threads[-1].start()

    yield press
    for thread in threads:
        thread.join()


def test_ctrl_c_waits_for_what_must_not_be_broken_and_is_not_lost(pressed: Callable[[float], None]) -> None:
    cancelled = threading.Event()
    pressed(0.1)
    done = []
    with pytest.raises(KeyboardInterrupt), interruptible(cancelled.set, anywhere):  # noqa: PT012
        assert cancelled.wait(20), "what runs is cancelled"
        done.append("the rest of the call")
    assert done, "the call was not broken"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_ctrl_c_caused_is_ctrl_c(pressed: Callable[[float], None]) -> None:
    cancelled = threading.Event()
    pressed(0.1)
    with pytest.raises(KeyboardInterrupt) as caught, interruptible(cancelled.set, anywhere):  # noqa: PT012
        cancelled.wait(20)
        raise OSError("the job was cancelled")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_elsewhere_ctrl_c_is_raised_at_once(pressed: Callable[[float], None]) -> None:
    pressed(0.1)
    with pytest.raises(KeyboardInterrupt), interruptible(lambda: None):
        time.sleep(60)


def test_a_second_ctrl_c_has_no_patience(pressed: Callable[[float], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "_PATIENCE", 1000)
    pressed(0.1)
    pressed(0.3)
    with pytest.raises(KeyboardInterrupt), interruptible(lambda: None, anywhere):
        time.sleep(1000)


def test_a_call_that_does_not_end_is_broken_after_a_while(
    pressed: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupt, "_PATIENCE", 0.3)
    pressed(0.1)
    with pytest.raises(KeyboardInterrupt), interruptible(lambda: None, anywhere):
        time.sleep(1000)


def test_a_handler_of_the_users_is_left_alone(pressed: Callable[[float], None]) -> None:
    heard = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: heard.set())
    try:
        pressed(0.1)
        with interruptible(lambda: None, anywhere):
            assert heard.wait(20)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_a_handler_of_the_users_raises_cancels_what_runs(pressed: Callable[[float], None]) -> None:
    class Enough(BaseException):
        pass

    def enough(*_: object) -> None:
        raise Enough

    cancelled = threading.Event()
    before = signal.signal(signal.SIGINT, enough)
    try:
        pressed(0.1)
        with pytest.raises(Enough), interruptible(cancelled.set, anywhere):
            time.sleep(60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.is_set()


def test_an_error_while_ctrl_c_is_handled_was_interrupted() -> None:
    def tidy_up() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise OSError("broken pipe")

    with pytest.raises(OSError, match="broken") as caught:
        tidy_up()
    assert was_interrupted(caught.value)
    assert not was_interrupted(OSError())


def test_directories_of_killed_processes_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    program = "from morisot.engines.spark.session.scratch import scratch; print(scratch(), flush=True); input()"
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    owners = [
        subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    directories = [Path(owner.stdout.readline().strip()) for owner in owners]  # type: ignore[union-attr]
    try:
        owners[0].kill()
        owners[0].wait()
        tmp_path.joinpath("morisot-of-somebody").mkdir()
        remove_abandoned(tmp_path)
        assert [directory.exists() for directory in directories] == [False, True]
        assert tmp_path.joinpath("morisot-of-somebody").exists(), "without an owner's lock nothing is known of it"
    finally:
        for owner in owners:
            owner.communicate("\n")
    assert not directories[1].exists(), "a process removes its own"


# --- on Spark ---

BEGINNING = """
import os, pathlib, signal, sys, tempfile, threading, time
import morisot as mo

config = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False)
ctx = mo.StreamContext(config=config)
running = pathlib.Path("running")


def slow(n: int) -> int:
    pathlib.Path(marker).touch()
    time.sleep(0.2)
    return n + 1


marker = str(running.absolute())
many = ctx.stream_iter(range(1000)).map(slow)
"""

PRESSING = (
    BEGINNING
    + '''
def press(when, times):
    """Press Ctrl-C when it is time."""
    running.unlink(missing_ok=True)

    def wait():
        when()
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def after(seconds):
    return lambda: time.sleep(seconds)


def it_runs():
    while not running.exists():
        time.sleep(0.02)
    time.sleep(0.3)


def spark_starts():
    # It imports nothing: two threads that import packages of pyspark at once can fail.
    while getattr(getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None), "_gateway", None) is None:
        time.sleep(0.01)


def interrupted(name, action, when, times=1):
    pressing = press(when, times)
    try:
        try:
            action()
            print(name, "ended")
        except mo.MorisotError as error:
            print(name, repr(error))
        running.touch()  # whatever happened, the other thread continues
        while pressing.is_alive():
            time.sleep(0.1)
    except KeyboardInterrupt as error:
        print(name, "interrupted" if error.__cause__ is None and not error.args else repr(error), flush=True)
    while pressing.is_alive():
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            pass


def right():
    assert ctx.stream_iter([1, 2]).map(lambda n: n + 1).collect() == [2, 3]


added = lambda state, n: state + n
always = lambda state: True
'''
)


def interrupted(name: str, action: str, when: str = "it_runs") -> str:
    """Lines of a program that are interrupted, and that the context works again."""
    return f"interrupted({name!r}, {action}, {when})\nright()\n"


CHANNEL = """
inlet, numbers = ctx.stream_channel(int)
results = numbers.map(lambda n: n + 1).collect_channel()
job = ctx.start()
inlet.send_all([1, 2])
print(results.get(), results.get())
interrupted("wait", job.wait, after(0.5))
interrupted("a channel", lambda: list(results), after(0.5))
interrupted("beside a job", many.collect, it_runs)
inlet.send_all([3])
print(results.get(), job.running, job.exception())
inlet.close()
print(job.wait(60))
"""
CATCH_UP = """
inlet, numbers = ctx.stream_channel(int)
results = numbers.map(slow).collect_channel()
job = ctx.start()
inlet.send_all(range(1000))
interrupted("catch_up", job.catch_up, it_runs)
print(job.running, job.exception())
job.stop()
"""
LOOP = """
loop = ctx.stream_iter(range(4)).replay(1000, 0, lambda s, state: s.map(slow), added, added, always, delta=0)
"""
ROUNDS = """
body = lambda s, state: s.map(slow).key_by(lambda n: n % 2).reduce(added).drop_key()
rounds = ctx.stream_iter(range(4)).replay(1000, 0, body, added, added, always, delta=0)
"""
SNAPSHOTS = """
with mo.StreamContext(config=config, snapshots=mo.Snapshots("saved", items=10)) as saving:
    interrupted("snapshots", saving.stream_iter(range(1000)).map(slow).collect, it_runs)
right()
"""
FOR_EACH = "ctx.stream_iter([1]).for_each(lambda n: (running.touch(), time.sleep(60)))\n"

SAID_OF_CHANNEL = """
2 3
wait interrupted
a channel interrupted
beside a job interrupted
4 True None
True
"""
PHASES: dict[str, tuple[str, str]] = {
    "as Java starts": (interrupted("as Java starts", "right", "after(0.5)"), ""),
    "collect": (interrupted("collect", "many.collect"), ""),
    "a loop": (LOOP + interrupted("a loop", "loop.collect"), ""),
    "a channel": (CHANNEL, SAID_OF_CHANNEL),
}
"""What a program does, and what it says if that is more than that it was interrupted."""
MORE_PHASES: dict[str, tuple[str, str]] = {
    "as Spark starts": (interrupted("as Spark starts", "right", "spark_starts"), ""),
    "twice": (interrupted("twice", "many.collect", "it_runs, 2"), ""),
    "to_arrow": (interrupted("to_arrow", "many.to_arrow"), ""),
    "execute": ("many.collect_vec()\n" + interrupted("execute", "ctx.execute"), ""),
    "for_each": (FOR_EACH + interrupted("for_each", "ctx.execute"), ""),
    "a loop of jobs": (ROUNDS + interrupted("a loop of jobs", "rounds.collect"), ""),
    "snapshots": (SNAPSHOTS, ""),
    "catch_up": (CATCH_UP, "catch_up interrupted\nTrue None"),
    "the prompt": (interrupted("the prompt", "lambda: time.sleep(60)", "after(0.3)"), ""),
}
END = """
running.unlink(missing_ok=True)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
many.collect()
"""


def environment(tmp_path: Path) -> dict[str, str]:
    """The child finds these sources, and has a directory for temporary files of its own."""
    temporary = tmp_path / "t"
    temporary.mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)}


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.parametrize("phases", [PHASES, pytest.param(MORE_PHASES, marks=pytest.mark.thorough)], ids=["few", "more"])
def test_ctrl_c_is_a_keyboard_interrupt_in_every_phase_and_the_context_works_again(
    phases: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    """The last one comes from a terminal: it goes to every process of the program's group, and ends the program."""
    program = PRESSING + "".join(code for code, _ in phases.values()) + END
    expected = [(said or f"{name} interrupted").strip() for name, (_, said) in phases.items()]
    wanted = "\n".join([*expected, "True"])
    with started(tmp_path, program) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().rstrip("\n") for _ in wanted.splitlines()]
        wait_for(tmp_path / "running", process)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        rest, problems = process.communicate(timeout=120)
    assert ("\n".join(said), rest) == (wanted, ""), problems
    check_one_traceback(process, problems)
    assert list((tmp_path / "t").iterdir()) == []


def check_one_traceback(process: subprocess.Popen[str], problems: str) -> None:
    """Ctrl-C has ended the program, and nothing but the traceback of it is shown."""
    assert process.returncode == -signal.SIGINT
    assert problems.count("Traceback") == 1
    assert problems.startswith("Traceback")
    assert problems.endswith("\nKeyboardInterrupt\n")
    assert "java" not in problems.replace("java_gateway", "").lower()


ENDINGS = (
    BEGINNING
    + """
import atexit

atexit.register(lambda: print("the end"))


class Sink(mo.Sink):
    def prepare(self, batch, elements): ...

    def close(self):
        print("closed", flush=True)


if sys.argv[1] == "stream":
    ctx.stream_rate(5).map(slow).write_to(Sink())
    job = ctx.start()
    job.wait()
elif sys.argv[1] == "open":
    ctx.stream_rate(5).map(slow).write_to(Sink())
    job = ctx.start()
    while not running.exists():
        time.sleep(0.1)
    raise ValueError("the user's")
else:
    many.collect()
"""
)


@contextlib.contextmanager
def started(tmp_path: Path, source: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program that leads a group of processes, as at a terminal."""
    program = tmp_path / "program.py"
    program.write_text(source)
    process = subprocess.Popen(
        [sys.executable, program, *arguments],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)


@pytest.mark.jvm
@pytest.mark.program
def test_sigterm_ends_a_stream_in_order(tmp_path: Path) -> None:
    with started(tmp_path, ENDINGS, "stream") as process:
        wait_for(tmp_path / "running", process)
        process.send_signal(signal.SIGTERM)
        said, problems = process.communicate(timeout=120)
    assert (process.returncode, said, problems) == (143, "closed\nthe end\n", "")
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_sigterm_ends_a_program_that_catches_everything(tmp_path: Path) -> None:
    stubborn = """
ctx.stream_rate(5).map(slow).write_to(Sink())
job = ctx.start()
while True:
    try:
        job.wait()
    except BaseException as error:
        print(type(error).__name__, flush=True)
        time.sleep(600)
"""
    with started(tmp_path, ENDINGS.partition("if sys.argv")[0] + stubborn) as process:
        wait_for(tmp_path / "running", process)
        process.send_signal(signal.SIGTERM)
        said, problems = process.communicate(timeout=120)
    assert (process.returncode, said, problems) == (143, "SystemExit\nclosed\n", "")
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_ctrl_c_at_a_terminal_shows_one_traceback_and_leaves_nothing(tmp_path: Path) -> None:
    """It goes to every process of the terminal's group."""
    with started(tmp_path, ENDINGS, "collect") as process:
        wait_for(tmp_path / "running", process)
        os.killpg(process.pid, signal.SIGINT)
        said, problems = process.communicate(timeout=120)
    assert said == "the end\n"
    check_one_traceback(process, problems)
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_an_error_that_ends_the_program_ends_its_stream_in_order(tmp_path: Path) -> None:
    with started(tmp_path, ENDINGS, "open") as process:
        said, problems = process.communicate(timeout=120)
    assert (process.returncode, said) == (1, "closed\nthe end\n")
    assert problems.count("Traceback") == 1
    assert problems.endswith("ValueError: the user's\n")
    assert list((tmp_path / "t").iterdir()) == []


ANY_MOMENT = (
    BEGINNING
    + """
first = True
while True:
    try:
        if first:
            print("ready", flush=True)
        first = False
        assert ctx.stream_iter([1, 2]).map(lambda n: n + 1).map(lambda n: len(str(n))).collect() == [1, 1]
        print("right", flush=True)
        break
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
)


def check_any_moments(tmp_path: Path, chance: random.Random) -> None:
    with started(tmp_path, ANY_MOMENT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            time.sleep(chance.random() * 6)
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGINT)
        said, problems = process.communicate(timeout=200)
    lines = said.splitlines()
    assert set(lines) <= {"interrupted", "right"}, said
    ended_by_ctrl_c = problems.endswith("KeyboardInterrupt\n") and problems.count("Traceback") == 1
    assert (problems == "" and lines[-1] == "right") or (ended_by_ctrl_c and "java" not in problems.lower()), problems
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
@pytest.mark.parametrize("time_", range(2))
def test_ctrl_c_at_any_moment(tmp_path: Path, chance: random.Random, time_: int) -> None:
    check_any_moments(tmp_path, chance)


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
@pytest.mark.parametrize("time_", range(30))
def test_ctrl_c_at_many_moments(tmp_path: Path, chance: random.Random, time_: int) -> None:
    check_any_moments(tmp_path, chance)
