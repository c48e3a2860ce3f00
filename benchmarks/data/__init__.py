"""The data that the benchmarks make for themselves, vectorised: seconds for hundreds of megabytes."""

from benchmarks.data.collisions import collisions
from benchmarks.data.events import events
from benchmarks.data.graphs import graph
from benchmarks.data.orders import customers, orders
from benchmarks.data.text import text

__all__ = ["collisions", "customers", "events", "graph", "orders", "text"]
