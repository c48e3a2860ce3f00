"""Detects and reports the end of Spark's JVM, and resets PySpark, so that another JVM can start."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from morisot.engines.spark.internals.gateway import client_of, client_of_session, current, forget
from morisot.engines.spark.internals.sessions import is_classic, is_stopped
from morisot.errors import JobError, MorisotError

_PATIENCE = 3.0
"""The most seconds between a broken connection and the end of the process."""
_LOOK_SECONDS = 0.02
_SHUTTING_DOWN = ("SparkContext was shut down", "stopped SparkContext", "SparkContext has been shutdown")
_WHAT_NEXT = (
    "This context cannot be used any more: create a new StreamContext. A job with snapshots resumes from its last one "
    "when the same program runs again."
)


class JvmEnded(JobError):  # noqa: N818 - the name describes the event
    """Spark's JVM has ended."""


class Process(Protocol):
    """The interface of a JVM's process."""

    pid: int

    def poll(self) -> int | None: ...


@dataclass(frozen=True)
class Jvm:
    """A JVM that this process has started."""

    process: Process
    last_words: Callable[[], str]


_started: weakref.WeakKeyDictionary[Any, Jvm] = weakref.WeakKeyDictionary()
"""The JVMs by their py4j clients."""


def remember(client: Any, jvm: Jvm) -> None:
    """Registers a started JVM."""
    _started[client] = jvm


def jvm_of(spark: Any) -> Jvm | None:
    """The JVM of a session, if it is a child of this process."""
    return _of_client(client_of_session(spark))


def _of_client(client: Any) -> Jvm | None:
    if client is None:
        return None
    found = _started.get(client)
    if found is None:
        gateway = current()
        process = getattr(gateway, "proc", None) if gateway is not None and client_of(gateway) is client else None
        found = None if process is None else Jvm(process, str)
    return found


def is_dead(spark: Any) -> bool:
    """Whether the JVM of a session has ended."""
    return _is_dead(client_of_session(spark))


def _is_dead(client: Any) -> bool:
    if client is None:
        return False
    jvm = _of_client(client)
    if jvm is not None:
        return jvm.process.poll() is not None
    parameters = client.gateway_parameters
    try:
        socket.create_connection((parameters.address, parameters.port), timeout=_PATIENCE).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def has_stopped(spark: Any) -> bool:
    """Whether a session, or its JVM, has ended or is about to."""
    if not is_classic(spark):
        return False
    try:
        return is_stopped(spark)
    except Exception:
        return True


def refuse_stopped(spark: Any) -> None:
    """Raises JobError if a session was stopped while a job ran."""
    if has_stopped(spark):
        raise death_of(spark, EOFError()) or JobError(
            "The Spark session was stopped while the job ran. Stop the job first: job.stop(), or ctx.close()."
        )


def death_of(spark: Any, error: BaseException | None = None) -> JvmEnded | None:
    """The message if the JVM of a session has ended. An error may be the first sign that it is about to."""
    deadline = time.monotonic() + (_PATIENCE if error is not None and is_sign(error) else 0.0)
    while not is_dead(spark):
        if time.monotonic() >= deadline:
            return None
        time.sleep(_LOOK_SECONDS)
    return JvmEnded(sentence(jvm_of(spark)))


def is_sign(error: BaseException) -> bool:
    """Whether an error may come from the end of the JVM."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        broken = isinstance(found, Py4JNetworkError | OSError | EOFError)
        unanswered = isinstance(found, Py4JError) and not isinstance(found, Py4JJavaError)
        if broken or unanswered or any(sign in _text(found) for sign in _SHUTTING_DOWN):
            return True
        found = found.__cause__ or found.__context__
    return False


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the text of a Java exception cannot be read from a JVM that has ended
        return _SHUTTING_DOWN[0]


def sentence(jvm: Jvm | None) -> str:
    """The message: what happened to the JVM, as far as it is known, and what to do."""
    if jvm is None:
        return f"The JVM in which Spark ran has ended. {_WHAT_NEXT}"
    code = jvm.process.poll() or 0
    said = jvm.last_words()
    words = f"\nThe last lines on its stderr, on which Python workers print as well:\n{said}" if said else ""
    return f"The JVM in which Spark ran (process {jvm.process.pid}) has ended: {how(code, said)} {_WHAT_NEXT}{words}"


def how(code: int, said: str = "") -> str:
    """How a JVM ended, and advice.

    >>> how(1)
    'its exit code is 1.'
    """
    number = -code if code < 0 else code - 128
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = ""
    if "OutOfMemoryError" in said:
        return "its heap was too small. Give it more with Config(memory=…)."
    if name == "SIGKILL":
        return (
            "it was killed (SIGKILL), as the system does when memory runs out. Look into the system's log; if it was "
            "for memory, give the JVM less of it with Config(memory=…), or the machine more."
        )
    if name in {"SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL"}:
        return f"it crashed ({name}). A file hs_err_pid….log in the working directory has details."
    return f"it was ended by {name}." if name else f"its exit code is {code}."


@contextlib.contextmanager
def reporting_death(spark: Any) -> Iterator[None]:
    """Replaces exceptions that the end of the JVM caused by JobError."""
    try:
        yield
    except Exception as error:
        death = caused_by_death(spark, error)
        if death is None:
            raise
        raise death from None


def caused_by_death(spark: Any, error: BaseException) -> JvmEnded | None:
    """The end of the JVM, if it may have caused an error. An error of a user's function is not one."""
    if isinstance(error, JvmEnded):
        return error
    if isinstance(error, MorisotError) and not isinstance(error, JobError):
        return None
    return death_of(spark, error)


# --- another one ---


def forget_dead() -> None:
    """Lets PySpark start another JVM if its JVM has ended. Otherwise it would use the dead one indefinitely."""
    gateway = current()
    if gateway is not None and _is_dead(client_of(gateway)):
        forget(gateway)
