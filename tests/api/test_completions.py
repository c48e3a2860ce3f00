"""What `dir` lists: the public names."""

from __future__ import annotations

from typing import Any

import pytest

import morisot as mo
from tests.house.public_api import NOT_FOR_USERS

NUMBERS = mo.StreamContext(engine="reference").stream_iter([1, 2])
KEYED = NUMBERS.group_by(lambda n: n)
JOIN = NUMBERS.join_with(NUMBERS, lambda n: n, lambda n: n)

OBJECTS: dict[str, Any] = {
    "context": mo.StreamContext(engine="reference"),
    "stream": NUMBERS,
    "keyed": KEYED,
    "windowed": NUMBERS.window_all(mo.CountWindow.tumbling(2)),
    "keyed_windowed": KEYED.window(mo.CountWindow.tumbling(2)),
    "output": NUMBERS.collect_vec(),
    "channel": NUMBERS.collect_channel(),
    "inlet": mo.StreamContext(engine="reference").stream_channel(int)[0],
    "join": JOIN,
    "shipped": JOIN.ship_hash(),
    "local": JOIN.ship_hash().local_hash(),
    "window": mo.EventTimeWindow.tumbling("10s"),
    "last": mo.LastK(2),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_dir_lists_public_names_only(name: str) -> None:
    found = OBJECTS[name]
    listed = set(dir(found))
    hidden = NOT_FOR_USERS.get(type(found), set())
    assert listed & hidden == set()
    assert [each for each in listed if each.startswith("_") and not each.startswith("__")] == []


def test_dir_of_the_package_lists_no_packages() -> None:
    assert {name for name in dir(mo) if not name.startswith("__")} == set(mo.__all__) - {"__version__"}


def test_dir_lists_the_operators() -> None:
    assert {"map", "filter", "group_by", "collect"} <= set(dir(NUMBERS))
    assert {"stream_iter", "execute", "config"} <= set(dir(OBJECTS["context"]))
