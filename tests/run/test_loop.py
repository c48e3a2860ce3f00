"""What happens to a loop when something around it breaks: workers, the user's patience, strangers at the door."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import morisot as mo
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.loops.coordinator import Coordinator
from morisot.engines.spark.loops.per_round import broadcast_bytes, counted
from morisot.engines.spark.loops.rounds import Progress, Rounds
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import Body, LoopInput, Replay
from morisot.plan.nodes.source import StreamIter
from morisot.types.element import INT
from morisot.worker.loops.link import Address, connect
from morisot.worker.loops.messages import Delta, End, Hello, Round, TaskId
from morisot.worker.loops.state import LoopState

ROOT = Path(__file__).parents[2]
HERE = Location(__file__, 1)


def added(left: Any, right: Any) -> Any:
    return left + right


def always(state: Any) -> bool:
    return True


@pytest.fixture
def ctx(spark: Any) -> mo.StreamContext:
    return mo.StreamContext(spark, config=mo.Config(progress=False))


def die_once(marker: Path, holds: bool) -> None:
    """Kill this process when the condition holds for the first time."""
    if holds and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


# -- lost workers --------------------------------------------------------------------------------------------------


@pytest.mark.jvm
def test_a_replay_whose_worker_is_killed_goes_on(ctx: mo.StreamContext, tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def body(stream: Any, state: Any) -> Any:
        return stream.inspect(lambda n: die_once(marker, state.value > 50 and n == 9)).map(
            lambda n: n + state.value % 3
        )

    asked: list[int] = []
    states = ctx.stream_iter(range(10)).replay(
        8,
        0,
        body,
        added,
        added,
        lambda state: asked.append(state) or True,  # type: ignore[func-returns-value, redundant-expr]
        delta=0,
    )
    expected = 0
    for _ in range(8):
        expected += sum(n + expected % 3 for n in range(10))
    assert states.collect() == [expected]
    assert marker.exists()
    (loop,) = ctx.metrics()["loops"]
    assert loop["rounds"] == 8
    assert not [thread for thread in threading.enumerate() if thread.name == "morisot-loop"]


@pytest.mark.jvm
@pytest.mark.parametrize("saved", [False, True])
def test_an_iterate_whose_worker_is_killed_gives_the_same(spark: Any, tmp_path: Path, saved: bool) -> None:
    marker = tmp_path / "killed"
    snapshots = mo.Snapshots(tmp_path / "snapshots", rounds=2) if saved else None
    ctx = mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots)

    def body(stream: Any, state: Any) -> Any:
        return stream.inspect(lambda n: die_once(marker, state.value > 300 and n % 2 == 1)).map(lambda n: n + 2)

    state, elements = ctx.stream_iter(range(10)).iterate(8, 0, body, added, added, always, delta=0)
    results = state.collect_vec(), elements.collect_vec()
    ctx.execute()
    assert marker.exists()
    assert results[1].get() == [n + 16 for n in range(10)]
    assert results[0].get() == [sum(n + 2 * r for r in range(1, 9) for n in range(10))]


@pytest.mark.thorough
@pytest.mark.jvm
def test_a_loop_whose_workers_always_die_ends(spark: Any) -> None:
    ctx = mo.StreamContext(spark, config=mo.Config(progress=False, parallelism=1))
    states = ctx.stream_iter(range(4)).replay(
        3, 0, lambda s, state: s.inspect(lambda n: os.kill(os.getpid(), signal.SIGKILL)), added, added, always, delta=0
    )
    with pytest.raises(mo.JobError):
        states.collect()
    assert ctx.stream_iter([1, 2]).map(lambda n: n + 1).collect() == [2, 3]


# -- Ctrl-C --------------------------------------------------------------------------------------------------------

ENDLESS = """
import sys, threading, time
import psutil
import morisot as mo

ctx = mo.StreamContext(config=mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False))
numbers = ctx.stream_iter(range(10))
numbers.map(lambda n: n + 1).collect()
me = psutil.Process()
before = {c.laddr for c in me.net_connections() if c.status == "LISTEN"}
def condition(state):
    if state == 200:
        print("running", flush=True)
    return True
try:
    body = lambda s, state: s.map(lambda n: n + state.value % 3)
    numbers.replay(10**9, 0, body, lambda d, n: d, lambda s, d: s + 1, condition, delta=0).collect()
except KeyboardInterrupt:
    print("interrupted", flush=True)
time.sleep(1)
after = {c.laddr for c in me.net_connections() if c.status == "LISTEN"}
print("threads", [t.name for t in threading.enumerate() if t.name == "morisot-loop"])
print("sockets", sorted(after - before))
print("jobs", list(ctx.spark.sparkContext.statusTracker().getActiveJobsIds()))
print("again", numbers.map(lambda n: n + 1).count().collect())
"""


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_ctrl_c_ends_a_loop_and_leaves_nothing(tmp_path: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text(ENDLESS)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "running"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert output.splitlines() == ["interrupted", "threads []", "sockets []", "jobs []", "again [10]"]


# -- the coordinator, without Spark ---------------------------------------------------------------------------------


def rounds(max_iterations: int = 3) -> Rounds:
    entering = LoopInput(type=INT, location=HERE)
    loop = Replay(
        StreamIter([1], type=INT, location=HERE),
        max_iterations,
        0,
        Body(entering, entering, LoopState()),
        Closure(added, HERE, "replay"),
        Closure(added, HERE, "replay"),
        Closure(always, HERE, "replay"),
        0,
        type=INT,
        location=HERE,
    )
    return Rounds(loop, Progress("replay"))


@pytest.fixture
def coordinator() -> Any:
    found = Coordinator(rounds(), "127.0.0.1", feedback=False)
    yield found
    found.stop()


def test_deltas_are_folded_in_the_order_of_partitions(coordinator: Coordinator) -> None:
    seen: list[Any] = []
    noting = Closure(lambda state, delta: seen.append(delta) or state + delta, HERE, "replay")  # type: ignore[func-returns-value, redundant-expr]
    object.__setattr__(coordinator.rounds.loop, "global_fold", noting)
    links = [connect(coordinator.address) for _ in range(3)]
    for partition, link in enumerate(links):
        assert link is not None
        link.send(pickle.dumps(Hello(TaskId(partition, 3, 0), 1)))
    for number in (1, 2, 3):
        for link in links:
            assert link is not None
            order = link.receive()
            assert isinstance(order, Round)
            assert order.number == number
        for partition in (2, 0, 1):
            link = links[partition]
            assert link is not None
            link.send(pickle.dumps(Delta(number, 1, partition)))
    for link in links:
        assert link is not None
        assert link.receive() == End(emit=True)
        link.close()
    assert seen == [0, 1, 2] * 3
    assert coordinator.rounds.state == 9


def test_tasks_may_come_late(coordinator: Coordinator) -> None:
    first, second = connect(coordinator.address), connect(coordinator.address)
    assert first is not None
    assert second is not None
    first.send(pickle.dumps(Hello(TaskId(0, 2, 0), 1)))
    time.sleep(0.3)  # the coordinator hears the first one alone
    second.send(pickle.dumps(Hello(TaskId(1, 2, 0), 1)))
    assert isinstance(first.receive(), Round)
    assert isinstance(second.receive(), Round)
    first.close()
    second.close()


def test_strangers_are_not_listened_to(coordinator: Coordinator) -> None:
    wrong = Address(coordinator.address.host, coordinator.address.port, b"guess")
    assert connect(wrong) is None
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Client((coordinator.address.host, coordinator.address.port), authkey=b"guess")
    with socket.create_connection((coordinator.address.host, coordinator.address.port)) as line:
        line.sendall(b"\x00\x00\x00\x04junk")
        line.settimeout(20)
        while line.recv(1024):
            pass  # the coordinator hangs up
    link = connect(coordinator.address)
    assert link is not None
    link.send(pickle.dumps(Hello(TaskId(0, 1, 0), 1)))
    assert isinstance(link.receive(), Round)
    link.close()


def test_the_leader_listens_on_one_address_and_stops(coordinator: Coordinator) -> None:
    assert coordinator._listener.getsockname()[0] == "127.0.0.1"
    coordinator.stop()
    deadline = time.monotonic() + 5
    while any(thread.name == "morisot-loop" for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [thread for thread in threading.enumerate() if thread.name == "morisot-loop"]
    assert connect(coordinator.address) is None


def test_a_lost_task_is_waited_for_and_gets_the_same_round_again(coordinator: Coordinator) -> None:
    first = connect(coordinator.address)
    assert first is not None
    first.send(pickle.dumps(Hello(TaskId(0, 1, 0), 1)))
    assert first.receive() == Round(1, 0)
    first.send(pickle.dumps(Delta(1, 1, 5)))
    assert first.receive() == Round(2, 5)
    first.close()
    second = connect(coordinator.address)
    assert second is not None
    second.send(pickle.dumps(Hello(TaskId(0, 1, 1), 1)))
    assert second.receive() == Round(2, 5)
    second.close()


def test_few_elements_of_a_round_may_be_sent_to_every_task(spark: SparkSession) -> None:
    frame = Frame(spark.range(3).selectExpr("id AS value"), INT)
    assert broadcast_bytes(frame.df) == 2**30 // 64, "a part of the memory of the session"
    plans = [counted(frame, rows).df._jdf.queryExecution().logical().toString() for rows in (3, 10**7)]
    assert [("broadcast" in plan) for plan in plans] == [True, False]
