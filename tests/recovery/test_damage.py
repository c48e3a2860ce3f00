"""A checkpoint with a damaged file gives the right answer or is refused, whichever file it is and however damaged."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.recovery.damage import KINDS, Checkpoint

pytestmark = pytest.mark.filterwarnings(r"ignore:[\s\S]*The loop resumes from:RuntimeWarning")


def defects(kind: str, spark: Any, directory: Path, sample: int | None = None) -> list[str]:
    """The damages of a kind of checkpoint, or some of them, that end in another way."""
    checkpoint = Checkpoint(KINDS[kind], spark, directory)
    cases = checkpoint.cases()
    if sample is not None:
        cases = random.Random(2024).sample(cases, sample)
    outcomes = {case: checkpoint.outcome(case) for case in cases}
    return [f"{case}: {outcome}" for case, outcome in outcomes.items() if outcome not in ("right", "refused")]


@pytest.mark.parametrize(
    ("kind", "sample"), [("stateless", 5), ("bounded_input", 5), ("loop_feedback", 2), ("pieces", 4)]
)
def test_some_damages(kind: str, sample: int, spark: Any, tmp_path: Path) -> None:
    assert defects(kind, spark, tmp_path, sample) == []


@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_every_damage(kind: str, spark: Any, tmp_path: Path) -> None:
    assert defects(kind, spark, tmp_path) == []
