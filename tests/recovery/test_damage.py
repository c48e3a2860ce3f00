"""A checkpoint with a damaged file gives the right answer or is refused, whichever file it is and however damaged."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.recovery.damage import KINDS, Case, Checkpoint

pytestmark = pytest.mark.filterwarnings(r"ignore:[\s\S]*The loop resumes from:RuntimeWarning")


def defects(checkpoint: Checkpoint, cases: list[Case]) -> list[str]:
    """The damages of a checkpoint that end in another way."""
    outcomes = {case: checkpoint.outcome(case) for case in cases}
    return [f"{case}: {outcome}" for case, outcome in outcomes.items() if outcome not in ("right", "refused")]


@pytest.mark.parametrize(
    ("kind", "sample"), [("stateless", 5), ("bounded_input", 5), ("loop_feedback", 2), ("pieces", 2)]
)
def test_some_damages(kind: str, sample: int, spark: Any, tmp_path: Path, chance: random.Random) -> None:
    checkpoint = Checkpoint(KINDS[kind], spark, tmp_path)
    assert defects(checkpoint, chance.sample(checkpoint.cases(), sample)) == []


@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_every_damage(kind: str, spark: Any, tmp_path: Path) -> None:
    checkpoint = Checkpoint(KINDS[kind], spark, tmp_path)
    assert defects(checkpoint, checkpoint.cases()) == []
