"""The plan of a stream loop: its operators on Spark as a stream, and what runs in the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from morisot.annotations.modes import Mode
from morisot.annotations.program import LoopCode
from morisot.annotations.syntax.sections import Section
from morisot.api.stream import Stream


class LoopPlan(Stream[Any]):
    """The operators of a stream loop up to the first stage in the driver. `explain()` names all stages."""

    notes: tuple[str, ...] = ()
    """A line for each section, and the guarantee."""

    def explain(self, detail: bool = False) -> None:
        """Prints the sections of the loop by line, and the operators on Spark with the form of each function."""
        print("\n".join(self.notes))
        print()
        super().explain(detail)


def described(
    program: LoopCode, modes: Sequence[Mode], arguments: Sequence[Mapping[str, Any]], *, head_in_driver: bool
) -> list[str]:
    """A line for each section of a loop: where it runs and why."""
    name = program.source.function.__qualname__
    lines = [f"pipeline {name}, stream loop {program.number}  [{program.location(program.loop.head)}]"]
    where = "in the driver, ahead of the job by a bounded backlog" if head_in_driver else "on Spark"
    lines.append(f"  head: {where}{_gives(program.loop.head)}")
    for number, (section, mode) in enumerate(zip(program.loop.stages, modes, strict=True)):
        how = _how(section, mode, arguments[number])
        lines.append(f"  stage {number + 1}: {how}{_gives(section)}  [{program.location(section)}]")
    return lines


def _gives(section: Section) -> str:
    return f"; gives {', '.join(section.outputs)}" if section.outputs else ""


def _how(section: Section, mode: Mode, arguments: Mapping[str, Any]) -> str:
    kept = ", ".join(sorted(section.keeps))
    if mode == "fold":
        return f"on Spark, state {kept}, one replica, in order; its last value is assigned after the loop"
    if mode == "driver":
        return f"in the driver, in order{f', keeps {kept}' if kept else ''}"
    replicas = arguments.get("replicate")
    return "on Spark" if replicas is None else f"on Spark, {replicas} replicas"


def guarantee(resume: str, *, saved: bool, commits: bool, effects: bool) -> str:
    """What a crash repeats."""
    if not saved:
        return "without snapshots a failed run starts from scratch"
    source = (
        "the head is run again, and its first elements are dropped: it must give the same ones"
        if resume == "reread"
        else "elements in the log come first, then the head continues to read"
    )
    if not effects:
        return f"with snapshots: exactly once for kept names; {source}"
    if commits:
        return f"with snapshots: exactly once, by the number that on_snapshot stores; {source}"
    return f"with snapshots: at least once for stages with effects: a failure repeats one batch; {source}"
