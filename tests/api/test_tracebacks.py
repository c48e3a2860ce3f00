"""Tracebacks of errors: they have the lines of the user, and no frames of Morisot."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import morisot as mo

PROGRAM = """
import morisot as mo

def inverse(n):
    return 1 // n

def main():
    mo.StreamContext(engine="reference").stream_iter([0]).map(inverse).collect()

{call}
"""


def inverse(n: int) -> int:
    return 1 // n


def printed(program: str, *options: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, *options],
        input=program,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    return run.stderr


def files(error: BaseException) -> set[str]:
    return {Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)}


@pytest.mark.parametrize("options", [("-",), ("-i", "-q")], ids=["script", "prompt"])
def test_a_program_shows_the_users_lines_only(options: tuple[str, ...]) -> None:
    call = "main()" if options == ("-",) else "\nmain()\n"
    said = printed(PROGRAM.format(call=call), *options, PYTHONSTARTUP="")
    assert "ZeroDivisionError" in said
    assert "in inverse" in said
    assert "in main" in said
    assert "morisot/" not in said.replace("morisot.errors", "")


def test_all_frames_are_shown_on_demand() -> None:
    said = printed(PROGRAM.format(call="main()"), "-", MORISOT_TRACEBACK="full")
    assert "morisot/engines/reference" in said


def test_the_cause_has_the_line_of_the_function() -> None:
    with pytest.raises(mo.ElementError) as caught:
        mo.StreamContext(engine="reference").stream_iter([0]).map(inverse).collect()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert files(caught.value.__cause__) == {"test_tracebacks.py"}
    assert files(caught.value) <= {"test_tracebacks.py", "public.py"}


def test_ipython_gets_the_users_lines_only() -> None:
    with pytest.raises(mo.PlanError) as caught:
        mo.StreamContext(engine="reference").stream_iter([0]).limit(-1)
    lines = caught.value._render_traceback_()
    assert "test_tracebacks.py" in "\n".join(lines)
    assert not [line for line in lines if "morisot/api" in line]


def test_other_errors_keep_their_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("morisot.api.methods.selection.Unique", broken, raising=False)
    monkeypatch.setattr("morisot.api.context.StreamContext.check", broken, raising=False)
    with pytest.raises((RuntimeError, TypeError)) as caught:
        mo.StreamContext(engine="reference").stream_iter([0])
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 2
