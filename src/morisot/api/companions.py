"""Checks of the other inputs of an operator: they are streams of the same context and of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from morisot.api.base import StreamBase
from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.types.element import Keyed

if TYPE_CHECKING:
    from morisot.plan.nodes.node import Node


def companion(stream: StreamBase[Any], other: Any, operator: str, *, same_kind: bool = True) -> Node:
    """The node of another input of an operator. Raises an error if it cannot be one."""
    if not isinstance(other, StreamBase):
        raise PlanError(
            f"{operator} takes another stream, not {other!r}",
            location=caller(),
            advice="make a stream of it first, with ctx.stream_iter(…)",
        )
    if other._context is not stream._context:
        raise PlanError(
            f"{operator} takes streams of one context, and these have two",
            location=caller(),
            advice="make both streams with the same StreamContext",
        )
    keyed, wanted = (isinstance(each.type, Keyed) for each in (other, stream))
    if same_kind and keyed != wanted:
        has, lacks = ("keys", "none") if wanted else ("no keys", "some")
        raise PlanError(
            f"{operator}: this stream has {has}, the other has {lacks}",
            location=caller(),
            advice="give the other one keys with key_by(…)" if wanted else "remove them with unkey() or drop_key()",
        )
    return other._node


def check_times(operator: str, *nodes: Node) -> None:
    """Raises an error if only some of the streams have timestamps, or their types differ."""
    times = {node.time for node in nodes}
    if len(times) == 1:
        return
    if None in times:
        raise PlanError(
            f"{operator} cannot combine elements with timestamps and elements without",
            location=caller(),
            advice="call add_timestamps(…) on all of the streams, or drop_timestamps()",
        )
    raise PlanError(
        f"{operator} cannot combine timestamps that are int with timestamps that are datetime",
        location=caller(),
        advice="give all of the streams the same kind, with add_timestamps(…)",
    )
