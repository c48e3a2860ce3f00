"""How sources of files are read: in order if a reader observes it, and by which means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.physical.facts import Facts
from morisot.physical.passes.order_files import FileOrder
from morisot.physical.plan import plan
from morisot.plan.nodes.node import Node


def number(line: str) -> int:
    return int(line)


PROGRAMS: dict[str, tuple[Callable[[Any], Any], FileOrder]] = {
    "rows": (lambda lines: lines.map(number), "packed"),
    "a list": (lambda lines: lines.map(number).collect_vec(), "packed"),
    "files": (lambda lines: lines.map(number).write_json("out"), "packed"),
    "a fold": (lambda lines: lines.fold(0, lambda total, line: total * 2 + len(line)), "packed"),
    "the first": (lambda lines: lines.limit(3).collect_count(), "packed"),
    "a count": (lambda lines: lines.map(number).collect_count(), "any"),
    "a count of each key": (lambda lines: lines.group_by_count(len).collect_vec(), "any"),
}


def root_of(ctx: mo.StreamContext, program: Callable[[Any], Any], lines: Any) -> Node:
    found = program(lines)
    return next(iter(ctx._take_sinks("execute"))) if ctx._sinks else found._node


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("connect", [False, True])
def test_files_are_read_in_order_if_it_is_observed(name: str, connect: bool, tmp_path: Path) -> None:
    program, expected = PROGRAMS[name]
    (tmp_path / "lines").write_text("1\n")
    ctx = mo.StreamContext(engine="reference")
    root = root_of(ctx, program, ctx.stream_file(tmp_path))
    (found,) = plan((root,), Facts(connect=connect)).file_order.values()
    assert found == ("restored" if connect and expected == "packed" else expected)


def test_a_followed_directory_has_an_order_of_its_own(tmp_path: Path) -> None:
    lines = mo.StreamContext(engine="reference").stream_file(tmp_path, unbounded=True)
    assert plan((lines._node,)).file_order == {}
