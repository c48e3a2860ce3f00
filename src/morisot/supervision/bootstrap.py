"""Starts a supervised program: first the heartbeat, then the program as `__main__`, with its own arguments."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
import threading
import time
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from morisot.overrides import OVERRIDES
from morisot.processes import die_with_parent
from morisot.runtime.activity import ACTIVITY, EngineState
from morisot.runtime.retries import JobFailure
from morisot.supervision.messages import VARIABLE, Assignment, Beat, Reporter, shortened
from morisot.tracebacks import without_own


class Pulse:
    """The threads that send heartbeats. One beats; the other asks the engine, which may not answer."""

    def __init__(self, reporter: Reporter, seconds: float) -> None:
        self._reporter = reporter
        self._seconds = seconds
        self._state: EngineState | None = None
        self._waiting = False
        self._answered = time.monotonic()
        """The end of the last answer."""
        self._asking = False

    def start(self) -> None:
        for work in (self._beat, self._ask):
            threading.Thread(target=work, name="morisot-heartbeat", daemon=True).start()

    def _beat(self) -> None:
        tick = 0
        while True:
            tick += 1
            state = self._state
            silence = time.monotonic() - self._answered if self._asking else 0.0
            beat = Beat(
                tick=tick,
                progress=ACTIVITY.progress,
                work=0 if state is None else state.work,
                waiting=self._waiting,
                engine=None if state is None else state.pid,
                silence=silence,
            )
            self._reporter.send("beat", dataclasses.asdict(beat))
            time.sleep(self._seconds)

    def _ask(self) -> None:
        while True:
            time.sleep(self._seconds / 2)
            self._state = self._state_of_engine()
            self._waiting = (self._state is not None and self._state.busy) or ACTIVITY.has_backlog()
            self._answered = time.monotonic()

    def _state_of_engine(self) -> EngineState | None:
        """The answer of the engine; None if there is no engine, or it has ended, which the program learns itself."""
        engine = ACTIVITY.engine
        if engine is None:
            return None
        self._asking = True
        try:
            return engine()
        except Exception:
            return None
        finally:
            self._asking = False


def main() -> None:
    """Runs the program that the assignment in the environment names."""
    assignment = Assignment(**json.loads(os.environ.pop(VARIABLE)))
    die_with_parent(assignment.parent)
    reporter = Reporter(assignment.pipe)
    OVERRIDES.settings, OVERRIDES.snapshots = assignment.settings, assignment.snapshots
    OVERRIDES.poison, OVERRIDES.supervised = assignment.poison, True
    ACTIVITY.listener = reporter.send
    Pulse(reporter, assignment.heartbeat).start()
    sys.argv = [assignment.target.partition(":")[0], *assignment.arguments]
    try:
        run(assignment.target)
    except Exception as error:
        error.__traceback__ = without_own(error.__traceback__)
        reporter.send("error", described(JobFailure.of(error)))
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def described(failure: JobFailure) -> dict[str, Any]:
    """A failure as JSON values."""
    element = None if failure.element is None else [shortened(each) for each in failure.element]
    return {"said": shortened(failure.said), "final": failure.final, "element": element}


def run(target: str) -> None:
    """Runs a path, `module:function`, or `path.py:function` as multiprocessing's spawn does."""
    name, _, function = target.rpartition(":") if ":" in target else (target, "", "")
    if not function:
        run_file(target, "__main__")
        return
    if name.endswith(".py"):
        found: Any = run_file(name, "__mp_main__")
    else:
        sys.path[0] = str(Path.cwd())
        found = importlib.import_module(name)
    for part in function.split("."):
        if not hasattr(found, part):
            raise ImportError(f"cannot import {function} from {name}")
        found = getattr(found, part)
    found()


def run_file(path: str, name: str) -> types.ModuleType:
    """Runs a file as the main module, which stays the main module: threads and exit handlers may refer to it."""
    file = Path(path)
    sys.path[0] = str(file.resolve().parent)
    code = compile(file.read_bytes(), path, "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = path
    module.__loader__ = SourceFileLoader(name, path)
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = sys.modules[name] = module
    exec(code, module.__dict__)
    return module


if __name__ == "__main__":
    # as an import, because the program replaces the main module
    importlib.import_module("morisot.supervision.bootstrap").main()
