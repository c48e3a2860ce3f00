"""`mo.supervise`: a supervisor in a process of its own, and the wait for its report."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from morisot.errors import ConfigError, MorisotError
from morisot.processes import die_with_parent
from morisot.supervision.arguments import config_settings, configured_directory, snapshot_settings
from morisot.supervision.attempts import SupervisionReport
from morisot.supervision.settings import Supervision
from morisot.supervision.supervisor import FINAL, Supervisor, say
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
    every: Duration | None = None,
    items: int | None = None,
    restart: str | int | None = None,
    clear: bool = False,
    clean_on_exit: bool = False,
    report: str | Path | None = None,
    config: str | Path | None = None,
    max_retries: int | None = None,
    max_restarts: int | None = None,
    retry_delay: Duration | None = None,
    timeout: Duration | None = None,
    heartbeat: Duration | None = None,
    stall: Duration | None = None,
    start_timeout: Duration | None = None,
    poison: str | None = None,
    **settings: Any,
) -> SupervisionReport:
    """Runs a program in a process of its own, and starts it again after failures, from its latest snapshot.

    The program is a path, `"module:function"`, or a function that can be imported. A function of the main module runs
    as with multiprocessing: the module is imported under another name, so its call of `supervise` needs the guard
    `if __name__ == "__main__":`. The keywords are the options of `morisot run`, so `settings` are those of `Config`,
    such as `master` and `parallelism`. `every`, `items`, `restart` and `clean_on_exit` replace those of `snapshots`.
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
    file = None if config is None else str(Path(config).absolute())
    supervision = Supervision.load(given, file=file)
    named = {"every": every, "items": items, "restart": restart, "clean_on_exit": clean_on_exit}
    saved = snapshot_settings(named, _entries(snapshots))
    variables = {} if file is None else {"MORISOT_CONFIG": file}
    task = SupervisedTask(
        _target(program),
        list(args),
        config_settings(settings),
        saved,
        None if report is None else str(Path(report).absolute()),
        clear,
        configured_directory(file),
    )
    if clear and task.cleared is None:
        raise ConfigError("supervise: clear=True needs snapshots=.")
    return _run(task, supervision, variables)


def _run(task: SupervisedTask, supervision: Supervision, variables: Mapping[str, str]) -> SupervisionReport:
    """Runs a supervisor, which writes its report to a pipe too."""
    receiving, sending = os.pipe()
    content = {"task": json.loads(as_json(task)), "settings": vars(supervision), "parent": os.getpid(), "pipe": sending}
    path = os.pathsep.join(str(Path(each).absolute()) for each in sys.path if not each.startswith(_INSTALLATION))
    environ = {**os.environ, **variables, _VARIABLE: json.dumps(content), "PYTHONPATH": path}
    with os.fdopen(receiving, encoding="utf-8") as reports:
        try:
            # in a process group of its own: Ctrl-C at the terminal reaches it once, from here
            process = subprocess.Popen(
                [sys.executable, "-m", "morisot.supervision.launch"], env=environ, process_group=0, pass_fds=[sending]
            )
        finally:
            os.close(sending)
        return _report_of(process, reports)


def _report_of(process: subprocess.Popen[bytes], reports: TextIO) -> SupervisionReport:
    try:
        text = reports.read()
        process.wait()
    except BaseException as error:
        process.send_signal(signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)
        try:
            process.wait()
        except BaseException:  # a second Ctrl-C
            process.send_signal(signal.SIGTERM)
            process.wait()
        raise
    if not text:
        raise MorisotError(f"the supervisor has ended with the exit code {process.returncode} and without a report")
    return SupervisionReport.parse(text)


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
    os.set_inheritable(content["pipe"], False)
    try:
        report = Supervisor(SupervisedTask(**content["task"]), Supervision(**content["settings"])).run()
    except MorisotError as error:
        say(str(error))
        sys.exit(FINAL)
    with os.fdopen(content["pipe"], "w", encoding="utf-8") as pipe:
        pipe.write(report.as_json())
    sys.exit(report.exit_code)


if __name__ == "__main__":
    main()
