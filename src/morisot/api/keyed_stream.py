"""A stream of elements that have a key."""

from __future__ import annotations

from typing import Generic, TypeVar

from morisot.api.checks.public import public
from morisot.api.methods.aggregate import KeyedAggregateMethods
from morisot.api.methods.combine import KeyedCombineMethods
from morisot.api.methods.iterate import KeyedIterateMethods
from morisot.api.methods.join import KeyedJoinMethods
from morisot.api.methods.keyed import KeyedKeyedMethods
from morisot.api.methods.partition import KeyedPartitionMethods
from morisot.api.methods.rowwise import KeyedRowwiseMethods
from morisot.api.methods.see import SeeMethods
from morisot.api.methods.selection import KeyedSelectionMethods
from morisot.api.methods.sink import SinkMethods
from morisot.api.methods.state import KeyedReplicaMethods, KeyedStateMethods
from morisot.api.methods.time import KeyedTimeMethods
from morisot.api.methods.window import KeyedWindowMethods

K = TypeVar("K")
V = TypeVar("V")


@public()
class KeyedStream(
    KeyedRowwiseMethods[K, V],
    KeyedAggregateMethods[K, V],
    KeyedSelectionMethods[K, V],
    KeyedKeyedMethods[K, V],
    KeyedStateMethods[K, V],
    KeyedReplicaMethods[K, V],
    KeyedTimeMethods[K, V],
    KeyedCombineMethods[K, V],
    KeyedJoinMethods[K, V],
    KeyedPartitionMethods[K, V],
    KeyedIterateMethods[K, V],
    KeyedWindowMethods[K, V],
    SinkMethods[tuple[K, V]],
    SeeMethods[tuple[K, V]],
    Generic[K, V],
):
    """A stream of values of type V, each with a key of type K. `collect` returns (key, value) pairs."""
