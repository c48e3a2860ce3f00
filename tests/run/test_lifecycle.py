"""The lifecycle of a part with queries that are not Spark queries: stops in every step of every course."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pytest

from morisot.engines.spark.streaming.query.lifecycle import Lifecycle, PartState
from morisot.engines.spark.streaming.query.watch import Watch

SECONDS = 30
Course = Literal["end", "run on", "fail", "fail while active", "fail for good", "do not start", "fail after start"]
"""What becomes of one query."""
RESTARTED: tuple[Course, ...] = ("fail", "fail while active")
LAST: tuple[Course, ...] = ("end", "fail for good", "do not start", "fail after start")
COURSES = [
    (*restarted, last)
    for number in range(3)
    for restarted in itertools.product(RESTARTED, repeat=number)
    for last in LAST
]
"""What becomes of the queries of a part, one after the other."""


class RestartableError(Exception):
    """After which a part starts another query."""


class FatalError(Exception):
    """After which it does not."""


@dataclass(eq=False)
class Query:
    course: Course
    can_stop: bool
    is_active: bool = True
    polls: int = 0

    def stop(self) -> None:
        if self.is_active and not self.can_stop:
            raise FatalError("it does not stop")
        self.is_active = False


@dataclass
class Script:
    """The steps of a part whose queries take the courses of a script; each step calls a hook."""

    courses: Sequence[Course]
    can_stop: bool = True
    at_step: Callable[[str], None] = lambda _: None
    lifecycle: Lifecycle[Query] = field(default_factory=Lifecycle)
    queries: list[Query] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """The rules that were broken."""
    restartable = (RestartableError,)

    def open(self) -> None:
        self.at_step("open")

    def start(self) -> None:
        self.at_step("start")
        if self.lifecycle.run(self._begin) and self.queries[-1].course == "fail after start":
            raise FatalError("after the start")
        self.at_step("started")

    def _begin(self) -> Query:
        if self.lifecycle.stop_requested:
            self.broken.append("a query starts after a stop was requested")
        if any(query.is_active for query in self.queries):
            self.broken.append("two queries are active")
        if self.closed:
            self.broken.append("a query starts in a part that is closed")
        self.at_step("begin")
        course = self.courses[len(self.queries)]
        if course == "do not start":
            raise FatalError("no start")
        self.queries.append(Query(course, self.can_stop))
        self.at_step("begun")
        return self.queries[-1]

    def poll(self, query: Query) -> bool:
        self.at_step("poll")
        query.polls += 1
        if not query.is_active:
            return True
        if query.polls < 2 or query.course == "run on":
            return False
        query.is_active = query.course == "fail while active"
        if query.course == "end":
            return True
        raise FatalError if query.course == "fail for good" else RestartableError

    def recover(self, query: Query, error: BaseException) -> None:
        self.at_step("recover")

    def unblock(self) -> None: ...

    def stop_query(self) -> None:
        self.at_step("stop query")
        self.lifecycle.stop_query()

    def closing(self, *, query_ended: bool) -> Iterator[Callable[[], None]]:
        yield lambda: self._close("writers")
        if query_ended:
            yield lambda: self._close("checkpoint")

    def abandon(self, *, query_ended: bool) -> None:
        for step in self.closing(query_ended=query_ended):
            step()

    def _close(self, what: str) -> None:
        self.at_step(f"close {what}")
        if what == "checkpoint" and any(query.is_active for query in self.queries):
            self.broken.append("the checkpoint of an active query is removed")
        self.closed.append(what)

    def user_error(self, error: BaseException) -> BaseException:
        return error


def run(script: Script) -> Watch[Query]:
    """Start a part and wait for its end."""
    watch = Watch("test", script.lifecycle, script)
    try:
        watch.start()
    except FatalError as error:
        watch.error = error
    assert script.lifecycle.join(SECONDS)
    return watch


def steps_of(courses: Sequence[Course]) -> list[str]:
    """The steps of a part that is not stopped."""
    steps: list[str] = []
    run(Script(courses, at_step=steps.append))
    return steps


class StopAt:
    """Stops a part in one of its steps: as a whole, or only by asking for it."""

    def __init__(self, script: Script, number: int, *, with_query: bool) -> None:
        self._script = script
        self._number = number
        self._with_query = with_query
        self._steps = 0

    def __call__(self, _: str) -> None:
        self._steps += 1
        if self._steps == self._number + 1:
            self._script.lifecycle.request_stop()
            if self._with_query:
                try:
                    self._script.lifecycle.stop_query()
                except FatalError:
                    assert not self._script.can_stop


@pytest.mark.parametrize("can_stop", [True, False], ids=["can-stop", "cannot-stop"])
@pytest.mark.parametrize("with_query", [False, True], ids=["asked", "stopped"])
def test_a_stop_in_any_step_leaves_nothing(with_query: bool, can_stop: bool) -> None:
    for courses in COURSES:
        for number, step in enumerate(steps_of(courses)):
            script = Script(courses, can_stop)
            script.at_step = StopAt(script, number, with_query=with_query)
            watch = run(script)
            active = [query for query in script.queries if query.is_active]
            where = f"{courses}, stopped in step {number}, {step}"
            assert script.broken == [], where
            assert script.lifecycle.state is PartState.STOPPED, where
            assert script.closed == (["writers"] if active else ["writers", "checkpoint"]), where
            assert not (active and can_stop), where
            assert not active or isinstance(watch.error, FatalError), where


def test_a_part_that_is_not_stopped_follows_its_course() -> None:
    for courses in COURSES:
        script = Script(courses)
        watch = run(script)
        assert script.broken == [], courses
        assert [query.course for query in script.queries] == [each for each in courses if each != "do not start"]
        assert not any(query.is_active for query in script.queries), courses
        assert script.closed == ["writers", "checkpoint"], courses
        assert (watch.error is None) == (courses[-1] == "end"), courses


def test_a_query_that_runs_on_is_stopped_by_the_thread() -> None:
    script = Script(["fail", "run on"])
    script.at_step = StopAt(script, 20, with_query=False)
    watch = run(script)
    assert [query.is_active for query in script.queries] == [False, False]
    assert script.queries[-1].polls > 2
    assert script.closed == ["writers", "checkpoint"]
    assert watch.error is None


def test_the_states_of_a_part() -> None:
    states: dict[str, PartState] = {}
    script = Script(["fail", "end"])
    script.at_step = lambda step: states.update({f"{step} {len(script.queries)}": script.lifecycle.state})
    states["before"] = script.lifecycle.state
    run(script)
    assert states["before"] is PartState.CREATED
    assert states["begun 1"] is PartState.STARTING
    assert states["poll 1"] is PartState.RUNNING
    assert states["recover 1"] is states["begun 2"] is PartState.RESTARTING
    assert states["poll 2"] is states["close checkpoint 2"] is PartState.RUNNING
    assert script.lifecycle.state is PartState.STOPPED


def test_stop_waits_for_a_restart_in_the_middle() -> None:
    """Another thread stops the part while its second query starts, which is active already."""
    reached, goes = threading.Event(), threading.Event()
    script = Script(["fail", "end"])

    def hold(step: str) -> None:
        if step == "begun" and len(script.queries) == 2:
            reached.set()
            assert goes.wait(SECONDS)

    script.at_step = hold
    watch = Watch("test", script.lifecycle, script)
    watch.start()
    assert reached.wait(SECONDS)
    stopping = threading.Thread(target=watch.stop)
    stopping.start()
    while not script.lifecycle.stop_requested:
        stopping.join(0.01)
    assert stopping.is_alive()
    goes.set()
    stopping.join(SECONDS)
    assert not stopping.is_alive()
    assert script.lifecycle.state is PartState.STOPPED
    assert [query.is_active for query in script.queries] == [False, False]
    assert script.broken == []
    assert watch.error is None


def test_a_part_that_was_stopped_before_its_start_does_not_start() -> None:
    script = Script(["end"])
    watch = Watch("test", script.lifecycle, script)
    watch.stop()
    watch.start()
    assert script.lifecycle.state is PartState.STOPPED
    assert script.queries == []


def test_a_query_whose_thread_does_not_start_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise FatalError("no more threads")

    monkeypatch.setattr("morisot.engines.spark.streaming.query.watch.Worker", no_thread)
    script = Script(["end"])
    with pytest.raises(FatalError, match="no more threads"):
        Watch("test", script.lifecycle, script).start()
    assert [query.is_active for query in script.queries] == [False]
    assert script.closed == ["writers", "checkpoint"]
    assert script.lifecycle.state is PartState.STOPPED
