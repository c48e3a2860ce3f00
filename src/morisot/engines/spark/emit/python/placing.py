"""Users' objects with callbacks, as tasks get them: with the address of the server of their job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.internals.sessions import is_classic
from morisot.errors import PlanError
from morisot.plan.nodes.node import Node
from morisot.worker.replicas.replica import Placed


def placed(
    node: Node, method: Callable[..., Any], replicas: int, emission: Emission, *, is_source: bool = False
) -> Placed:
    """The object of a method, as the tasks of its operator get it."""
    server = emission.resources.replicas
    number = emission.nodes.index(node)
    if server is None:
        return Placed(emission.run, number, replicas, method, None)
    if not is_classic(emission.spark):
        raise PlanError(
            f"{node.operator} does not run on Spark Connect: its callbacks need a connection to the driver",
            location=node.location,
            advice="use a classic session",
        )
    _, committed = emission.query.newest()
    if committed >= 0:
        server.note_complete(committed)
    address = server.serve(number, node.title, replicas, is_source=is_source)
    return Placed(server.run, number, replicas, method, address, is_source)
