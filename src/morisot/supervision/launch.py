"""`mo.supervise`: a supervisor in a process of its own, and the wait for its report."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morisot.errors import ConfigError
from morisot.processes import die_with_parent
from morisot.supervision.attempts import SupervisionReport
from morisot.supervision.settings import Supervision
from morisot.supervision.supervisor import Supervisor
from morisot.supervision.task import SupervisedTask, as_json
from morisot.types.moments import Duration

if TYPE_CHECKING:
    from morisot.plan.snapshots import Snapshots

_VARIABLE = "MORISOT_SUPERVISE"
_INSTALLATION = (sys.prefix, sys.base_prefix)
"""Directories that every Python of this installation imports from."""


def supervise(
    program: str | Path | Callable[[], object],
    *,
    args: Sequence[str] = (),
    snapshots: Snapshots | str | Path | None = None,
    settings: dict[str, Any] | None = None,
    clear: bool = False,
    report: str | Path | None = None,
    max_retries: int | None = None,
    max_restarts: int | None = None,
    retry_delay: Duration | None = None,
    timeout: Duration | None = None,
    heartbeat: Duration | None = None,
    stall: Duration | None = None,
    start_timeout: Duration | None = None,
    poison: str | None = None,
) -> SupervisionReport:
    """Runs a program in a process of its own, and starts it again after failures, from its latest snapshot.

    The program is a path, `"module:function"`, or a function that can be imported. A function of the main module runs
    as with multiprocessing: the module is imported under another name, so its call of `supervise` needs the guard
    `if __name__ == "__main__":`. The settings are those of `morisot run`; `settings` has those of `Config`.
    """
    given = {
        "max_retries": max_retries,
        "max_restarts": max_restarts,
        "retry_delay": retry_delay,
        "timeout": timeout,
        "heartbeat": heartbeat,
        "stall": stall,
        "start_timeout": start_timeout,
        "poison": poison,
    }
    supervision = Supervision.load(given)
    with tempfile.TemporaryDirectory(prefix="morisot-report-") as directory:
        file = Path(report) if report is not None else Path(directory) / "attempts.json"
        task = SupervisedTask(
            _target(program), list(args), dict(settings or {}), _entries(snapshots), str(file.absolute()), clear
        )
        _run(task, supervision)
        found = SupervisionReport.read(file)
        saved = task.directory
        if saved is not None and report is None:
            found.write(saved / "attempts.json")
        return found


def _run(task: SupervisedTask, supervision: Supervision) -> None:
    content = {"task": json.loads(as_json(task)), "settings": vars(supervision), "parent": os.getpid()}
    path = os.pathsep.join(str(Path(each).absolute()) for each in sys.path if not each.startswith(_INSTALLATION))
    environ = {**os.environ, _VARIABLE: json.dumps(content), "PYTHONPATH": path}
    # in a process group of its own: Ctrl-C at the terminal reaches it once, from here
    process = subprocess.Popen([sys.executable, "-m", "morisot.supervision.launch"], env=environ, process_group=0)
    try:
        process.wait()
    except BaseException as error:
        process.send_signal(signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)
        try:
            process.wait()
        except BaseException:  # a second Ctrl-C
            process.send_signal(signal.SIGTERM)
            process.wait()
        raise


def _target(program: str | Path | Callable[[], object]) -> str:
    if isinstance(program, str | Path):
        return str(program)
    name, module = getattr(program, "__qualname__", ""), getattr(program, "__module__", "")
    if not name or "<" in name:
        raise ConfigError(f"supervise: {program!r} cannot be imported: define it at the top level of a module.")
    if module == "__main__":
        file = inspect.getsourcefile(program)
        if file is None or not Path(file).is_file():
            raise ConfigError(f"supervise: {name} has no file: define it in a module.")
        return f"{Path(file).absolute()}:{name}"
    return f"{module}:{name}"


def _entries(snapshots: Snapshots | str | Path | None) -> dict[str, Any]:
    """The settings of snapshots as JSON values."""
    if snapshots is None:
        return {}
    if isinstance(snapshots, str | Path):
        return {"path": str(Path(snapshots).absolute())}
    named = {name: getattr(snapshots, name) for name in ("items", "rounds", "keep", "restart", "clean_on_exit")}
    every = None if snapshots.seconds is None else round(snapshots.seconds * 1000)
    return {"path": str(Path(snapshots.path).absolute()), "every": every, **named}


def main() -> None:
    """The process of the supervisor."""
    content = json.loads(os.environ.pop(_VARIABLE))
    die_with_parent(content["parent"], signal.SIGTERM)
    report = Supervisor(SupervisedTask(**content["task"]), Supervision(**content["settings"])).run()
    sys.exit(report.exit_code)


if __name__ == "__main__":
    main()
