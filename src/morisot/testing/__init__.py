"""Tests of programs: a program over the same elements, bounded or in micro-batches, with or without a JVM."""

from morisot.testing.faults import InjectedFault, fault
from morisot.testing.outcome import Outcome, last_by_key
from morisot.testing.run import Engine, observe, run
from morisot.testing.script import CRASH, advance_time

__all__ = ["CRASH", "Engine", "InjectedFault", "Outcome", "advance_time", "fault", "last_by_key", "observe", "run"]
