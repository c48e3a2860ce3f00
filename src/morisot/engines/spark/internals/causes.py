"""Spark's exceptions as data: the chain of causes, with the condition and the parameters of each.

Spark's messages quote data and plans. Its conditions, classes and parameters do not, so decisions are based on these. A
session of Spark Connect gets the same chain from the server.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

_ERRORS = "_morisot_errors"
"""The attribute of a Spark Connect exception with the server's chain of causes."""


@dataclass(frozen=True)
class Cause:
    """One link of the chain."""

    classes: tuple[str, ...] = ()
    """The names of its Java class and, on Spark Connect, of its base classes."""
    condition: str | None = None
    state: str | None = None
    """Its SQLSTATE."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    thrown: Any = field(default=None, repr=False, compare=False)
    """The exception itself, if it is in a JVM of this process."""

    def is_a(self, name: str) -> bool:
        """Whether it is an exception of that Java class. A subclass counts only if the chain has the base classes."""
        return name in self.classes

    def has(self, condition: str) -> bool:
        """Whether its condition is this one, or a subcondition of it."""
        return self.condition is not None and (self.condition + ".").startswith(condition + ".")


# A barrier stage has its cause in its message only, and so does Spark Connect if a cause has no message. The beginning
# of such a message is from Spark: how the stage failed, then the class and the condition of the cause.
_ABORTED = re.compile(
    r"Job aborted due to stage failure: (?:"
    r"Task \d+ in stage \S+ failed \d+ times, most recent failure: "
    r"Lost task \S+ in stage \S+ \(TID \d+\) \(\S+ executor \S+\): |"
    r"(?:Could not recover from a failed barrier ResultStage\.|"
    r"ShuffleMapStage \d+ \([^\n]*?\) has failed the maximum allowable number of times: \d+\.)"
    r" Most recent failure reason: Stage failed because barrier task \w+\(\d+, \d+\) finished unsuccessfully\.\n)"
    r"(?P<name>[\w.$]+): (?:\[(?P<condition>[A-Z0-9_.]+)\] )?(?P<message>.*)",
    re.DOTALL,
)


def causes(error: BaseException) -> list[Cause]:
    """The chain of causes of a Spark exception, the outermost first. Other exceptions are one link with a message."""
    chain = _links(error)
    quoted = _ABORTED.match(chain[-1].message) if chain[-1].condition is None else None
    if quoted is not None:
        message = re.sub(r" SQLSTATE: \w{5}$", "", quoted["message"].split("\n\tat ")[0])
        condition = quoted["condition"] if quoted["name"].startswith("org.apache.spark.") else None
        chain.append(Cause((quoted["name"],), condition, message=message))
    return chain


def _links(error: BaseException) -> list[Cause]:
    if hasattr(error, _ERRORS):
        return list(_on_connect(*getattr(error, _ERRORS)))
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is not None:
        return list(_in_jvm(java))
    if isinstance(error, PySparkException):
        parameters = error.getMessageParameters() or {}
        return [Cause((), error.getCondition(), error.getSqlState(), parameters, str(error))]
    return [Cause(message=str(error))]


def _in_jvm(java: Any) -> Iterator[Cause]:
    from py4j.java_gateway import is_instance_of
    from pyspark import SparkContext

    gateway, jvm = SparkContext._gateway, SparkContext._jvm
    assert jvm is not None, "an exception of a JVM has a gateway"
    utils = jvm.PythonErrorUtils
    while java is not None:
        classes, message = (str(java.getClass().getName()),), str(java.getMessage() or "")
        if is_instance_of(gateway, java, "org.apache.spark.SparkThrowable"):
            condition = utils.getCondition(java)
            parameters = dict(utils.getMessageParameters(java)) if condition else {}
            yield Cause(classes, condition, utils.getSqlState(java), parameters, message, java)
        else:
            yield Cause(classes, message=message, thrown=java)
        java = java.getCause()


def _on_connect(errors: Any, index: int | None) -> Iterator[Cause]:
    while index is not None:
        found = errors[index]
        said = found.spark_throwable
        yield Cause(
            tuple(found.error_type_hierarchy),
            said.error_class if said.HasField("error_class") else None,
            said.sql_state if said.HasField("sql_state") else None,
            dict(said.message_parameters),
            found.message,
        )
        index = found.cause_idx if found.HasField("cause_idx") else None


def first_cause(error: Py4JJavaError) -> str:
    """The class and the message of the innermost cause of a Java exception, which is the most specific."""
    java = error.java_exception
    while java.getCause() is not None:
        java = java.getCause()
    return f"{java.getClass().getSimpleName()}: {java.getMessage()}"


def keep_causes_of_connect() -> None:
    """Stores the chain of causes in exceptions of Spark Connect. PySpark reads it from the server and drops it."""
    from pyspark.sql.connect.client import core as client

    core: Any = client
    plain = core.convert_exception
    if hasattr(plain, "__wrapped__"):
        return

    def keeping(info: Any, truncated_message: str, resp: Any, *rest: Any, **more: Any) -> Any:
        error = plain(info, truncated_message, resp, *rest, **more)
        if resp is not None and resp.HasField("root_error_idx"):
            setattr(error, _ERRORS, (list(resp.errors), resp.root_error_idx))
        return error

    functools.update_wrapper(keeping, plain)
    core.convert_exception = keeping
