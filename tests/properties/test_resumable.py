"""Random plans have the same result by source splits as at once, also when they run again."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import morisot as mo
from tests.properties.test_plans import THOROUGH, Plan, answer, compare, reference
from tests.properties.test_plans import plans as bounded_plans
from tests.properties.test_unbounded import plans as unbounded_plans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def in_pieces(plan: Plan, spark: SparkSession, directory: str, items: int) -> list[Any]:
    snapshots = mo.Snapshots(directory, items=items)
    with mo.StreamContext(spark, config=mo.Config(progress=False, report=False), snapshots=snapshots) as context:
        return list(plan.on(context.stream_iter(plan.elements)).collect())


@pytest.mark.timeout(1200)
@settings(max_examples=200 if THOROUGH else 2)
@given(plan=st.one_of(unbounded_plans(), unbounded_plans(), bounded_plans()), items=st.integers(1, 6))
def test_the_answer_does_not_depend_on_pieces(plan: Plan, items: int, spark: SparkSession) -> None:
    note(str(plan))
    expected = answer(lambda: reference(plan))
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(2):
            compare(plan, answer(lambda: in_pieces(plan, spark, directory, items)), expected)
