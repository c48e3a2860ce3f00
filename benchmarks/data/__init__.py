"""The data that the benchmarks make for themselves, vectorised: seconds for hundreds of megabytes."""

from benchmarks.data.collisions import collisions
from benchmarks.data.events import events
from benchmarks.data.orders import orders
from benchmarks.data.text import text

__all__ = ["collisions", "events", "orders", "text"]
