"""The names that users rely on change only on purpose: public_api.txt lists them."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.runtime.metrics import ContextMetrics
from tests.house import public_api

SAMPLES: dict[str, tuple[str, str, Any]] = {
    "master": ("local[3]", '"local[3]"', "local[3]"),
    "parallelism": ("3", "3", 3),
    "engine": ("reference", '"reference"', "reference"),
    "memory": ("3g", '"3g"', "3g"),
    "verbose": ("true", "true", True),
    "progress": ("true", "true", True),
    "report": ("false", "false", False),
    "operator_metrics": ("true", "true", True),
    "sample": ("false", "false", False),
    "max_retries": ("2", "2", 2),
    "snapshots": ("saves", '{path = "saves"}', {"path": "saves"}),
    "packages": ("kafka", '["kafka"]', ("kafka",)),
    "spark": ("a.b=1", '{"a.b" = 1}', {"spark.a.b": "1"}),
}
"""Of each setting: a value that is not the default, as text, in TOML and in Python."""
BARE = {"verbose", "progress", "operator_metrics"}
"""Arguments without a value."""


def test_the_public_api_is_what_it_was() -> None:
    was, is_ = public_api.FILE.read_text(encoding="utf-8"), public_api.text()
    changes = difflib.unified_diff(was.splitlines(), is_.splitlines(), "as it was", "as it is", lineterm="", n=0)
    assert was == is_, "\n".join(
        [f"what users rely on has changed; if that is meant, run `{public_api.COMMAND}`", *changes]
    )


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(mo.Config)])
def test_settings_are_read_under_the_names_that_the_list_gives(name: str, tmp_path: Path) -> None:
    (line,) = [line for line in public_api.setting_lines() if line.startswith(f"{name}: ")]
    _, variable, key, argument = line.split("; ")
    text, toml, expected = SAMPLES[name]
    file = tmp_path / "settings.toml"
    file.write_text(f"[morisot]\n{key} = {toml}\n")
    given = [f"--no-{name}"] if name in ("report", "sample") else [argument] if name in BARE else [argument, text]
    read = [mo.Config.from_environment({variable: text}), mo.Config.from_file(file), mo.Config.from_args(given)[0]]
    assert [getattr(config, name) for config in read] == [expected] * 3
    assert getattr(mo.Config(), name) != expected
    by_variable = mo.Config.from_environment({"MORISOT_CONFIG": str(file)})
    by_argument, _ = mo.Config.from_args(["--config", str(file)])
    assert getattr(by_variable, name) == getattr(by_argument, name) == expected


def test_metrics_without_a_jvm_have_the_keys_of_the_list() -> None:
    ctx = mo.StreamContext(engine="reference")
    ctx.stream_iter([1, 2]).map(lambda n: n + 1).collect()
    assert set(ctx.metrics()) == set(ContextMetrics.__annotations__) | {
        "skipped",
        "diverted",
        "late",
    }
