"""Stages: the fused loop of Python over Arrow batches, rows in and rows out, as a worker runs it."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa

from morisot.types.element import Tuple, Type
from morisot.worker.codec.batches import decode, encode, schema_of
from morisot.worker.rowwise.stage import Stage
from morisot.worker.rowwise.steps import Step
from tests.properties.proof.outcomes import FAILED
from tests.properties.proof.pages import Case


def done(case: Case, result: Type, rows: list[tuple[Any, ...]]) -> list[Any]:
    """What a stage makes of each row; the row travels as a tuple there, and its result back as the type."""
    element = Tuple(case.types)

    def unpacked(row: tuple[Any, ...]) -> Any:
        return case.function(*row)

    stage = Stage((Step("map", "map", None, function=unpacked),), element, result, pickle.dumps)
    found = []
    for row in rows:
        batch = pa.RecordBatch.from_arrays(encode([row], element, pickle.dumps), schema=schema_of(element))
        try:
            (output,) = stage(iter([batch]))
            (value,) = decode(output.columns, result)
        except Exception:
            value = FAILED
        found.append(value)
    return found
