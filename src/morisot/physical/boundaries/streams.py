"""Sources, row-wise operators, shuffles and unions."""

from __future__ import annotations

from collections import Counter

from morisot.physical.boundaries.nodes import (
    EXCHANGE,
    PYTHON,
    SCAN,
    SORT,
    Causing,
    Nodes,
    aggregated,
    canonical,
    converted,
    moved,
)
from morisot.plan.analysis.resumable import StoredSplits
from morisot.plan.nodes import partition
from morisot.plan.nodes.time import AddTimestamps, that_may_idle
from morisot.types.element import Keyed

_MOST_FILES_READ_ONE_BY_ONE = 64


def read(cause: Causing) -> Nodes:
    """A scan. Where the order of files is restored, several ones are scanned one by one, and many are sorted."""
    node = cause.node
    if isinstance(node, StoredSplits) and node.running:  # the last value of each key, or of all
        last = Counter({SORT: 1}) if not isinstance(node.type, Keyed) else aggregated(together=False, by_sort=True)
        return Counter({SCAN: 1}) + last
    if cause.plan.file_order.get(node) != "restored":
        return Counter({SCAN: 1})
    if cause.sizes.files <= _MOST_FILES_READ_ONE_BY_ONE:
        return Counter({SCAN: cause.sizes.files})
    return Counter({SCAN: 1, EXCHANGE: 1, SORT: 1})


def parse(cause: Causing) -> Nodes:
    """A scan of the paths of files, and a pass in Python that reads them."""
    return read(cause) + Counter({PYTHON: 1})


def slot(cause: Causing) -> Nodes:
    """A scan of the result of an earlier step."""
    return Counter({SCAN: 1})


def in_python(cause: Causing) -> Nodes:
    """One pass in Python. A generator is called for each row of a range."""
    return Counter({PYTHON: 1}) + instances(cause)


def instances(cause: Causing) -> Nodes:
    """The rows for which a generator is called, one for each partition."""
    return Counter({SCAN: 0 if cause.operator.inputs else 1})


def watermark(cause: Causing) -> Nodes:
    """Functions without a column form are passes of their own. An idle input also scans the others' watermarks."""
    node = cause.node
    assert isinstance(node, AddTimestamps)
    functions = sum(closure not in cause.operator.columns for _, closure in node.closures)
    idle = node.idle is not None and node in that_may_idle(cause.plan.nodes)
    return Counter({PYTHON: functions, SCAN: 1 if idle else 0})


def union(cause: Causing) -> Nodes:
    """Elements of another type than the result may have to be converted in Python."""
    return sum((converted(value.type, cause.node.type) for value in cause.node.inputs), start=Counter())


def exchange(cause: Causing) -> Nodes:
    """A shuffle, which Spark drops if another one follows. If order matters, it is a shuffle into sorted ranges."""
    node = cause.node
    if isinstance(node, partition.RepartitionBy):
        return Counter() if cause.ordered else canonical(cause.key) + Counter({EXCHANGE: 1})
    if cause.ordered:
        return Counter({EXCHANGE: 1, SORT: 1} if node.bounded else {})
    return moved(_moves_again(cause))


def _moves_again(cause: Causing) -> bool:
    """Whether the only reader of the rows is a shuffle that does not restore an order."""
    plan, node = cause.plan, cause.node
    readers = [each for each in plan.nodes if node in each.inputs]
    again = [isinstance(each, partition.Shuffle | partition.Parallelism) for each in readers]
    return again == [True] and plan.readers[node] == 1 and readers[0] not in plan.order.needed
