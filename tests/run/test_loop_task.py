"""Tasks of a loop and their coordinator, in threads of this process: no Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import morisot as mo
from morisot.engines.spark.checkpoints.loops import SnapshotStore
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.loops.coordinator import Coordinator
from morisot.engines.spark.loops.rounds import Progress, Rounds
from morisot.physical.choose.iterate import loop_kernel
from morisot.plan.nodes.iterate import Loop
from morisot.types.element import INT
from morisot.worker.aggregate.accumulators import FoldAccumulator
from morisot.worker.codec.batches import decode, encode, schema_of
from morisot.worker.loops.kernel import LoopKernel
from morisot.worker.loops.messages import TaskId
from morisot.worker.loops.task import LocalFold, LoopTask
from morisot.worker.report.signature import Seal
from morisot.worker.rowwise.steps import Step


def added(left: Any, right: Any) -> Any:
    return left + right


def always(state: Any) -> bool:
    return True


def loop_of(rounds: int = 6) -> Loop:
    """Numbers grow by what the state says, and large ones leave."""
    state, _ = (
        mo.StreamContext(engine="reference")
        .stream_iter([0])
        .iterate(
            rounds,
            1,
            lambda s, state: s.map(lambda n: n * 2 + state.value % 3).filter(lambda n: n < 5000),
            added,
            added,
            always,
            delta=0,
        )
    )
    node = state._node.inputs[0]
    assert isinstance(node, Loop)
    return node


def expected(parts: list[list[int]], rounds: int = 6) -> tuple[int, list[int]]:
    state = 1
    numbers = [n for part in parts for n in part]
    for _ in range(rounds):
        numbers = [m for n in numbers if (m := n * 2 + state % 3) < 5000]
        state += sum(numbers)
    return state, numbers


def run(
    node: Loop,
    parts: list[list[int]],
    *,
    kernel: bool = False,
    patience: float = 0.0,
    store: SnapshotStore | None = None,
) -> tuple[Any, list[int]]:
    """The state and the elements that tasks in threads give, each with its part."""
    saves = None if store is None else store.of_loop(node, Seal())
    rounds = Rounds(node, Progress("iterate"), saves)
    compiled = loop_kernel(node)
    assert isinstance(compiled, LoopKernel)
    handle = node.body.state
    steps = tuple(
        Step(each.operator, each.operator, None, function=each.closures[0][1].function)  # type: ignore[arg-type]
        for each in node.body.nodes
    )
    coordinator = Coordinator(rounds, "127.0.0.1", feedback=True)
    results: dict[int, list[int]] = {}

    def work(partition: int) -> None:
        batch = pa.RecordBatch.from_arrays(encode(parts[partition], INT, dumps), schema=schema_of(INT))
        task = LoopTask(
            (),
            steps,
            INT,
            INT,
            INT,
            handle,
            LocalFold(FoldAccumulator(0, added), "iterate", None),
            True,
            coordinator.address,
            task_id(partition),
            dumps,
            compiled if kernel else None,
            None,
            rounds.saved.parts if rounds.saved is not None else None,
            patience,
        )
        results[partition] = [n for found in task(iter([batch])) for n in decode(found.columns, INT)]

    def task_id(partition: int) -> Callable[[], TaskId]:
        return lambda: TaskId(partition, len(parts), 0)

    threads = [threading.Thread(target=work, args=(partition,)) for partition in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    coordinator.finish()
    return rounds.state, [n for partition in sorted(results) for n in results[partition]]


PARTS = [list(range(50)), list(range(200, 260))]


@pytest.mark.parametrize("patience", [0.0, 1e-9, 1e9], ids=["compiled", "compiled in the middle", "python"])
def test_rounds_in_python_and_in_machine_code(patience: float) -> None:
    assert run(loop_of(), PARTS, kernel=True, patience=patience) == expected(PARTS)


def test_rounds_without_a_kernel() -> None:
    assert run(loop_of(), PARTS) == expected(PARTS)


def test_a_task_without_elements() -> None:
    assert run(loop_of(), [[], list(range(9))], kernel=True) == expected([[], list(range(9))])


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_a_snapshot_is_read_by_any_number_of_tasks(kernel: bool, tasks: int, tmp_path: Path) -> None:
    settings = mo.Snapshots(tmp_path, rounds=2)
    node = loop_of(rounds=4)
    assert run(node, PARTS, kernel=kernel, store=SnapshotStore(settings)) == expected(PARTS, 4)
    longer = loop_of(rounds=4)
    chosen = SnapshotStore(mo.Snapshots(tmp_path, rounds=2, restart=1))
    parts: list[list[int]] = [[]] * tasks  # the input is not looked at: the elements come from the snapshot
    assert run(longer, parts, kernel=kernel, store=chosen) == expected(PARTS, 4)


def test_snapshots_are_kept_and_dropped(tmp_path: Path) -> None:
    store = SnapshotStore(mo.Snapshots(tmp_path, keep=3))
    run(loop_of(), PARTS, store=store)
    assert store.numbers() == [4, 5, 6]
    assert [file for file in tmp_path.rglob("*") if file.name.startswith(".writing")] == []
    store.clean()
    assert store.numbers() == []


def test_a_snapshot_that_was_not_finished_is_not_used(tmp_path: Path) -> None:
    run(loop_of(), PARTS, store=SnapshotStore(mo.Snapshots(tmp_path, rounds=3)))
    (last,) = tmp_path.rglob("snapshot-000002-*")
    (last / "state").unlink()
    store = SnapshotStore(mo.Snapshots(tmp_path, rounds=3))
    with pytest.warns(RuntimeWarning, match=r"state is missing\n.*\n  The loop resumes from .*snapshot-000001"):
        saved = store.of_loop(loop_of(), Seal()).latest()
    assert saved is not None
    assert (saved.number, saved.round, saved.over) == (1, 3, False)
    with pytest.raises(mo.SnapshotError, match="state is missing"):
        SnapshotStore(mo.Snapshots(tmp_path, rounds=3, restart=2)).of_loop(loop_of(), Seal()).latest()


def test_settings_of_snapshots_are_checked() -> None:
    for wrong in ({"every": "soon"}, {"every": 0}, {"items": 0}, {"keep": 0}, {"restart": "first"}, {"restart": -1}):
        with pytest.raises(mo.ConfigError):
            mo.Snapshots("saves", **wrong)
    with pytest.raises(mo.ConfigError, match="share"):
        mo.Snapshots("hdfs://host/saves")
