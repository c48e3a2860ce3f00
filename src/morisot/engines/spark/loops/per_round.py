"""Loops whose body shuffles elements: a job for each round.

The lineage of a round's input is truncated, so that no round computes earlier ones again. If the body does not read the
state and has the same input in every round, one plan is used for all rounds.
"""

from __future__ import annotations

import copy
import functools
import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from pyspark.sql import DataFrame

from morisot.compile.aggregates.round_folds import NumericFold
from morisot.engines.spark.checkpoints.loops import LoopSaves, Saved
from morisot.engines.spark.emit import iterate
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.loops.native_deltas import entries_of, resumed
from morisot.engines.spark.emit.loops.round_folds import checkpointed_with_delta, measured, native_round_fold
from morisot.engines.spark.loops.rounds import Progress, Rounds
from morisot.plan.nodes.iterate import Body, DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.types.element import BOOL, FLOAT, INT, Type, leaves

Deltas = list[tuple[int, Any]]
"""The number of folded elements, and their delta."""


_ELEMENTS = "elements"
"""The directory of saved elements, in that of a snapshot."""
EmitBody = Callable[[Mapping[Node, Frame]], Emission]
"""Returns the emission of a round, for its input and its side inputs."""


def run(node: Loop, emit_body: EmitBody, emission: Emission, rounds: Rounds) -> Frame | None:
    """Runs a loop as a job for each round. Returns the output of the last round if there is feedback."""
    with ExitStack() as held:
        entering = iterate.as_type(emission.frame(node.input).untimed(), node.body.input.type)
        if not node.feedback:
            entering = with_saved_input(entering, rounds)
            entering = entering.emitted()
            held.enter_context(persisted(entering.df))
        given = side_inputs(node.body, emission, held)
        native = native_round_fold(node, emission)
        replayed: Replayed | None = None
        reusable = not node.body.reads_state
        if node.feedback and rounds.saved is not None:
            entering = restored(emission, rounds.saved, node.body.input.type)
        leaving = entering
        while not rounds.over:
            node.body.state.set(copy.deepcopy(rounds.begin()))
            if replayed is None or not reusable:
                with within(rounds.saves, rounds.number + 1):
                    body = emit_body({**given, node.body.input: entering})
                    if node.feedback:
                        leaving, deltas = fed_back(node, native, body)
                    else:
                        replayed = Replayed(node, native, body)
                held.callback(body.release)
            if replayed is not None:
                deltas = replayed.run()
            rounds.fold(deltas)
            if node.feedback:
                entering = counted(iterate.as_type(leaving, node.body.input.type), sum(count for count, _ in deltas))
            if rounds.should_save():
                if rounds.needs_input:
                    entering.df.write.parquet(str(rounds.begin_input() / _ELEMENTS))
                    rounds.commit_input()
                save(rounds, entering if node.feedback else None)
        node.body.state.clear()
        return iterate.as_type(leaving, node.element_type) if node.feedback else None


def save(rounds: Rounds, elements: Frame | None) -> None:
    """Saves the state, and the input of the next round if it is not that of the loop."""
    writing = rounds.begin_saving()
    if elements is not None:
        elements.df.write.parquet(str(writing / _ELEMENTS))
    rounds.commit()


def with_saved_input(entering: Frame, rounds: Rounds) -> Frame:
    """The input of every round from a snapshot, if it is there, in the partitions in which it was written."""
    directory = None if rounds.saves is None else rounds.saves.input
    files = [] if directory is None else sorted((directory / _ELEMENTS).glob("part-*"))
    if not files:
        return entering
    read = entering.df.sparkSession.read.schema(entering.df.schema)
    return entering.over(functools.reduce(DataFrame.union, (read.parquet(str(file)) for file in files)))


def restored(emission: Emission, saved: Saved, type_: Type) -> Frame:
    """The input of the next round, from a snapshot."""
    return Frame(emission.spark.read.schema(schema.ddl(type_)).parquet(saved.elements), type_)


def within(saves: LoopSaves | None, number: int) -> AbstractContextManager[None]:
    """Saves loops of the body as those of this round."""
    return nullcontext() if saves is None else saves.store.inside(saves, number)


def fed_back(node: Loop, native: NumericFold | None, body: Emission) -> tuple[Frame, Deltas]:
    """The output of a round, with its lineage truncated, and its deltas."""
    leaving = body.frame(node.body.output).untimed()
    if native is None:
        leaving = Frame(leaving.df.localCheckpoint(eager=False), leaving.type)  # the fold computes it
        return leaving, deltas_of(iterate.round_fold(node, leaving, ()))
    leaving, delta = checkpointed_with_delta(native, leaving)
    return leaving, deltas_of(iterate.round_fold(node, leaving, ())) if delta is None else [delta]


class Replayed:
    """A round of a loop without feedback: only its deltas are used, and its plan is run in every round."""

    def __init__(self, node: Loop, native: NumericFold | None, body: Emission) -> None:
        self._node = node
        self._leaving, self._steps = body.before_last_stage(node.body.output)
        self._leaving = self._leaving.untimed()
        self._measured = measured(native, self._leaving) if native is not None and not self._steps else None
        self._fold: DataFrame | None = None

    def run(self) -> Deltas:
        if self._measured is not None:
            if self._fold is None:
                self._fold = self._measured.frame.df.agg(*self._measured.aggregates)
            (row,) = self._fold.collect()
            delta = self._measured.delta(row)
            if delta is not None:
                return [delta]
            self._measured, self._fold = None, None  # the fold runs in Python
        if self._fold is None:
            self._fold = iterate.round_fold(self._node, self._leaving, self._steps)
        return deltas_of(self._fold)


def deltas_of(fold: DataFrame) -> Deltas:
    """The number of folded elements and the delta of each partition, in the order of partitions."""
    rows = sorted(fold.collect(), key=lambda row: int(row[0]))
    return [(row[1], pickle.loads(row[2])) for row in rows]


_WIDTHS: dict[Type, int] = {INT: 8, FLOAT: 8, BOOL: 1}
_WIDTH, _ROW = 20, 16
"""Spark's estimates of the bytes of a value of unknown length, and of the overhead of a row."""


def counted(frame: Frame, rows: int) -> Frame:
    """A frame whose rows were counted: if they are few, a join may broadcast them.

    Spark estimates the size of a round's output from the plan of the round, and a join as a cross product.
    """
    width = _ROW + sum(_WIDTHS.get(leaf.type, _WIDTH) for leaf in leaves(frame.type))
    return frame.over(frame.df.hint("broadcast")) if rows * width <= broadcast_bytes(frame.df) else frame


def broadcast_bytes(df: DataFrame) -> int:
    """The session's limit of bytes for broadcasts in joins; -1 if there are none."""
    said = df.sparkSession.conf.get(_BROADCAST) or ""  # without a default, get() returns Spark's default
    found = re.fullmatch(r"(-?\d+)([bkmg]?)b?", said.lower())
    return int(found[1]) * 1024 ** "bkmg".find(found[2] or "b") if found else -1


_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"


def side_inputs(body: Body, emission: Emission, held: ExitStack) -> dict[Node, Frame]:
    """The side inputs of all rounds, computed and persisted before the first round."""
    given = {side: emission.frame(side).emitted() for side in body.side_inputs}
    for frame in given.values():
        held.enter_context(persisted(frame.df))
        frame.df.count()
    return given


@contextmanager
def persisted(df: DataFrame) -> Iterator[None]:
    """Persists a frame during a block."""
    df.persist()
    try:
        yield
    finally:
        df.unpersist()


def run_delta(
    node: DeltaIterate, emit_body: EmitBody, emission: Emission, progress: Progress, saves: LoopSaves | None
) -> Frame:
    """Runs a delta iteration: rounds with the changed entries only, until there are none."""
    with ExitStack() as held:
        given = side_inputs(node.body, emission, held)
        saved = saves.latest() if saves is not None else None
        if saved is None:
            kept_as = entries_of(node, emission)
            entries = kept_as.first(emission.frame(node.input).untimed()).localCheckpoint()
        else:
            kept_as, entries = resumed(node, emission, emission.spark.read.parquet(saved.elements))
        done = 0 if saved is None else node.max_iterations if saved.over else saved.round
        progress.rounds = progress.first_round = done
        changed: int | None = None
        for number in range(done + 1, node.max_iterations + 1):
            began = time.perf_counter()
            entering = kept_as.updates(entries) if changed is None else counted(kept_as.updates(entries), changed)
            with within(saves, number):
                body = emit_body({**given, node.body.input: entering})
            leaving = body.frame(node.body.output).untimed()
            entries = kept_as.after(entries, leaving).localCheckpoint()
            changed = entries.where("changed").count()
            body.release()
            progress.count(number, changed > 0, changed, time.perf_counter() - began)
            over = not changed or number == node.max_iterations
            if saves is not None and saves.should_save(number, changed, over):
                writing = saves.begin(number)
                entries.write.parquet(str(writing / _ELEMENTS))
                saves.commit(writing, number, over, None)
            if not changed:
                break
        return kept_as.outputs(entries)
