"""Processes of the operating system. Linux has all functions; other systems do without the marked ones."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_LOOK_SECONDS = 0.01
_KILL_SECONDS = 10.0
_PROC = Path("/proc")


class ProcessEntry(NamedTuple):
    """A row of the process table."""

    parent: int
    state: str
    cpu_ticks: int
    started: str
    """The start time, which with the pid identifies a process."""


def become_subreaper() -> None:
    """Makes this process the parent of its orphaned descendants. Linux only."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Has the kernel signal this process when its parent ends, which may have happened already. Linux only."""
    _prctl(_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


# --- the process table ---


def entry_of(pid: int) -> ProcessEntry | None:
    """A process; None if it has ended."""
    if not _PROC.is_dir():
        return _from_ps().get(pid)
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before may have any characters
    return ProcessEntry(int(fields[1]), fields[0], int(fields[11]) + int(fields[12]), fields[19])


def table() -> dict[int, ProcessEntry]:
    """All processes."""
    if not _PROC.is_dir():
        return _from_ps()
    found = ((int(each), entry_of(int(each))) for each in os.listdir(_PROC) if each.isdigit())  # noqa: PTH208
    return {pid: entry for pid, entry in found if entry is not None}


def _from_ps() -> dict[int, ProcessEntry]:
    said = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,stat=,time=,lstart="], capture_output=True, text=True, check=False
    ).stdout
    rows = (line.split(None, 4) for line in said.splitlines())
    return {int(pid): ProcessEntry(int(up), state, _ticks(cpu), begun) for pid, up, state, cpu, begun in rows}


def _ticks(cpu: str) -> int:
    total = 0.0
    for part in cpu.replace("-", ":").split(":"):
        total = total * 60 + float(part)
    return int(total * 100)


def start_time(pid: int) -> str | None:
    entry = entry_of(pid)
    return None if entry is None else entry.started


def is_alive(pid: int, started: str | None) -> bool:
    """Whether the process that had this pid and start time still runs."""
    entry = entry_of(pid)
    return entry is not None and entry.state[0] != "Z" and (started is None or entry.started == started)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used; 0 if it has ended."""
    entry = entry_of(pid)
    return 0.0 if entry is None else entry.cpu_ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """The processes below a process that have not ended."""
    processes = table()
    children: dict[int, list[int]] = {}
    for each, entry in processes.items():
        children.setdefault(entry.parent, []).append(each)
    found: list[int] = []
    pending = list(children.get(pid, ()))
    while pending:
        each = pending.pop()
        pending += children.get(each, ())
        if processes[each].state[0] != "Z":
            found.append(each)
    return found


def with_variable(name: str, value: str) -> list[int]:
    """The processes of this user that were started with an environment variable. Linux only."""
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for each in table():
        with contextlib.suppress(OSError):
            if wanted in (_PROC / str(each) / "environ").read_bytes().split(b"\0"):
                found.append(each)
    return [each for each in found if each != os.getpid()]


# --- ending processes ---


def reap(exits: dict[int, int]) -> None:
    """Stores the exit statuses of ended children."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        exits[pid] = os.waitstatus_to_exitcode(status)


def end_descendants(grace: float, exits: dict[int, int]) -> None:
    """Ends all descendants of this process: SIGTERM, after `grace` seconds SIGKILL. Returns when they have ended."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILL_SECONDS)):
        asked: set[int] = set()
        deadline = time.monotonic() + seconds
        while remaining := descendants(os.getpid()):
            for pid in remaining:
                if pid not in asked or number == signal.SIGKILL:
                    asked.add(pid)
                    send(pid, number)
                    send(pid, signal.SIGCONT)  # a stopped process does not handle SIGTERM
            reap(exits)
            if time.monotonic() >= deadline:
                break
            time.sleep(_LOOK_SECONDS)
        reap(exits)
        if not remaining:
            return


def kill(pids: list[int]) -> None:
    """Kills processes that are not children of this one, and waits for their end."""
    for pid in pids:
        send(pid, signal.SIGKILL)
    deadline = time.monotonic() + _KILL_SECONDS
    while any(is_alive(pid, None) for pid in pids) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def send(pid: int, number: int) -> None:
    """Sends a signal to a process, if it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
