"""A stream of elements."""

from __future__ import annotations

from morisot.api.base import T
from morisot.api.checks.public import public
from morisot.api.methods.aggregate import AggregateMethods
from morisot.api.methods.combine import CombineMethods
from morisot.api.methods.iterate import IterateMethods
from morisot.api.methods.join import JoinMethods
from morisot.api.methods.keyed import KeyedMethods
from morisot.api.methods.partition import PartitionMethods
from morisot.api.methods.rowwise import RowwiseMethods
from morisot.api.methods.see import SeeMethods
from morisot.api.methods.selection import SelectionMethods
from morisot.api.methods.sink import SinkMethods
from morisot.api.methods.state import ReplicaMethods, StateMethods
from morisot.api.methods.time import TimeMethods
from morisot.api.methods.window import WindowMethods


@public()
class Stream(
    RowwiseMethods[T],
    AggregateMethods[T],
    SelectionMethods[T],
    KeyedMethods[T],
    StateMethods[T],
    ReplicaMethods[T],
    TimeMethods[T],
    CombineMethods[T],
    JoinMethods[T],
    PartitionMethods[T],
    IterateMethods[T],
    WindowMethods[T],
    SinkMethods[T],
    SeeMethods[T],
):
    """A stream of elements of type T. A StreamContext creates streams, and operators return new ones."""
