"""The marks of a pipeline. Without `@mo.pipeline` they do nothing: the program is the sequential one."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any, Generic, Literal, TypeVar, overload

T = TypeVar("T")
M = TypeVar("M")

Resume = Literal["reread", "continue"]
Send = Literal["on_demand", "affinity", "broadcast"]
Names = str | tuple[str, ...]

_FOREVER: Any = object()
_SETUP = frozenset({"CACHE", "NOP", "EXTENDED_ARG", "RESUME"})


@overload
def to_stream(*, inputs: Names = (), outputs: Names = (), resume: Resume = "reread") -> Literal[True]: ...
@overload
def to_stream(
    iterable: Iterable[T], *, inputs: Names = (), outputs: Names = (), resume: Resume = "reread"
) -> Iterable[T]: ...
def to_stream(
    iterable: Any = _FOREVER,
    *,
    inputs: Names = (),  # noqa: ARG001 - the decorator reads them
    outputs: Names = (),  # noqa: ARG001
    resume: Resume = "reread",  # noqa: ARG001
) -> Any:
    """Marks the loop that becomes the source of a pipeline: `for x in mo.to_stream(xs)` or `while mo.to_stream()`.

    >>> list(to_stream([1, 2]))
    [1, 2]
    """
    return True if iterable is _FOREVER else iterable


class StageMark(Generic[M]):
    """A marked block. Undecorated, it runs as it is."""

    def __init__(self, on_init: Callable[[], M] | None) -> None:
        self._on_init = on_init

    def __enter__(self) -> M:
        """What `on_init` returns, where a name is bound to it."""
        if self._on_init is not None and _is_bound(sys._getframe(1)):
            return self._on_init()
        return None  # type: ignore[return-value]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def stage(
    *,
    inputs: Names = (),  # noqa: ARG001 - the decorator reads all but `on_init`
    outputs: Names = (),  # noqa: ARG001
    replicate: int | None = None,  # noqa: ARG001
    send: Send = "on_demand",  # noqa: ARG001
    key: str | None = None,  # noqa: ARG001
    on_init: Callable[[], M] | None = None,
    on_exit: Callable[[], Any] | None = None,  # noqa: ARG001
    on_snapshot: Callable[..., Any] | None = None,  # noqa: ARG001
    on_error: Callable[..., Any] | None = None,  # noqa: ARG001
    last_committed: Callable[[], int | None] | None = None,  # noqa: ARG001
) -> StageMark[M]:
    """Marks a block of a stream loop that becomes an operator: `with mo.stage(replicate=4): …`.

    >>> with stage(replicate=4):
    ...     print("the block runs")
    the block runs
    """
    return StageMark(on_init)


def _is_bound(frame: FrameType) -> bool:
    """Whether the `with` statement that a frame enters binds a name."""
    following = (each for each in dis.get_instructions(frame.f_code) if each.offset > frame.f_lasti)
    return next((each.opname for each in following if each.opname not in _SETUP), "") != "POP_TOP"
