"""The fixtures that users get, on the session of these tests."""

from __future__ import annotations

from typing import Any

import pytest

from morisot.testing.plugin import morisot_engine, morisot_run

__all__ = ["morisot_engine", "morisot_run"]


@pytest.fixture(scope="session")
def morisot_spark(spark: Any) -> Any:
    return spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(item, "callspec", None)
        if parameters is not None and parameters.params.get("morisot_engine") in ("spark", "unbounded"):
            item.add_marker(pytest.mark.jvm)
