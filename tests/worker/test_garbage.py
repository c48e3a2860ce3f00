"""What a worker does about garbage between its tasks."""

from __future__ import annotations

import gc
import subprocess
import sys

from morisot.worker.garbage import no_garbage_collection

PROGRAM = """
import gc, weakref
import pyarrow
from morisot.worker.garbage import freeze_modules

class Thing: pass

def cycle():
    thing = Thing()
    thing.self = thing
    return weakref.ref(thing)

earlier = cycle()
before = len(gc.get_objects())
freeze_modules()
assert earlier() is None, "earlier garbage is not retained"
assert len(gc.get_objects()) < before / 10, "the modules are still looked at"
later = cycle()
freeze_modules()
gc.collect()
assert later() is None, "garbage of a later task is kept"
frozen = gc.get_freeze_count()
import decimal, fractions, statistics
freeze_modules()
assert gc.get_freeze_count() > frozen, "a later module is looked at"
"""


def test_modules_are_left_alone_and_garbage_is_not() -> None:
    """In a process of its own: the garbage of this process is not that of the worker."""
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)


def test_collection_is_as_it_was_afterwards() -> None:
    assert gc.isenabled()
    with no_garbage_collection():
        assert not gc.isenabled()
        with no_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
