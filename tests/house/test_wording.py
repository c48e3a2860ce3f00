"""The wording check finds each phrase that it lists, and accepts the words that are allowed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import wording

Findings = Callable[..., list[tuple[int, str]]]

EXAMPLES = {
    "silent input": "the input is silent",
    "owes, debt": "an expression that is owed",
    "where it stands": "the column tells where a row of it stands",
    "what … what …": "What enters a round is cut off from what was computed",
    "nobody, somebody": "Nobody reads it.",
    "so many, so often": "So many files are read.",
}
"""Sentences for the rules whose phrase is no example of itself."""

ALLOWED = [
    "An error is silently ignored.",
    "The list is changed in place.",
    "It takes place later, in many places and to two decimal places.",
    "Both run by one piece of code, and both pieces of advice help.",
    "All columns apart from the key are dropped.",
    "Rows are sorted nearest first.",
    "An abbreviation stands for a name.",
    "Do not forget to close the context.",
    "The optimizer of Spark drops Spark's column. The user's function of Spark's optimizer.",
    "The plan shows what runs, and what it costs. What a call returns is printed.",
    "The order is kept.",
    "The requirement is met.",
    "There are so many that reading takes long.",
    "`without end`, ``what `waits` ``, [endless](without-end.md#place) and <!-- anew -->",
]


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    """Writes a file and gives the lines and texts of what is found in it."""

    def check(text: str, name: str = "page.md") -> list[tuple[int, str]]:
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return [(finding.line, finding.text) for finding in wording.problems([file])]

    return check


def test_the_checked_files_have_no_problem() -> None:
    assert wording.problems(wording.files_below(wording.ROOT / path for path in wording.PATHS)) == []


def test_each_phrase_is_found_with_its_replacement(findings: Findings) -> None:
    missed = []
    for rule in wording.RULES:
        found = findings(f"# Title\n\nA sentence.\n{EXAMPLES.get(rule.phrase, rule.phrase)}\n")
        if not any(line == 4 and text.endswith(f": say {rule.say}") for line, text in found):
            missed.append(rule.phrase)
    assert missed == []


def test_a_phrase_may_continue_in_the_next_line(findings: Findings) -> None:
    examples = [EXAMPLES.get(rule.phrase, rule.phrase).replace(" ", "\n") for rule in wording.RULES]
    assert [example for example in examples if not findings(example)] == []


def test_other_uses_are_allowed(findings: Findings) -> None:
    assert [found for text in ALLOWED for found in findings(text)] == []


def test_code_blocks_are_not_prose(findings: Findings) -> None:
    blocks = "```python\nendless = 1  # anew\n```\n\n- Item:\n\n  ```\n  without end\n  ```\n"
    text = f"Before.\n\n{blocks}\nAn endless stream.\n"
    assert [line for line, _ in findings(text)] == [13]


def test_wide_lines_are_found_outside_headings_tables_code_and_links(findings: Findings) -> None:
    wide, target = "word " * 25, "a/" * 60
    text = f"{wide}\n\n## {wide}\n\n| {wide} |\n\n```\n{wide}\n```\n\nSee [this]({target}).\n\n{'x' * 120}\n"
    assert findings(text) == [(1, "125 characters: wrap the line at 120")]


def test_docstrings_comments_and_messages_of_python_are_prose(findings: Findings) -> None:
    text = '''"""An endless stream."""

place, endless = 1, "endless"


def anew(spool: int) -> str:
    """Waits

    for it without
    end.
    """
    # It comes
    # again.
    message = f"{spool} of {place} goes on"
    return message + "the watermark is " "told the time" + f"{'for ever and ever'}"
'''
    assert [(line, text.split(":")[0]) for line, text in findings(text, "module.py")] == [
        (1, "'endless'"),
        (9, "'without end'"),
        (12, "'comes again'"),
        (14, "'goes on'"),
        (15, "'for ever'"),
        (15, "'told the time'"),
    ]


def test_examples_in_docstrings_are_code(findings: Findings) -> None:
    text = '"""A sentence.\n\n>>> place = [1]\n>>> place\n[1] anew\n\nIt goes on.\n"""\n'
    assert [line for line, _ in findings(text, "module.py")] == [7]


def test_an_exemption_needs_a_reason(findings: Findings) -> None:
    assert findings("Endless. <!-- wording: the title of a book -->\n") == []
    assert [line for line, _ in findings("Endless. <!-- wording: -->\n")] == [1]
    assert findings("x = 1  # Endless. wording: the title of a book\n", "module.py") == []
    assert [line for line, _ in findings("x = 1  # Endless. wording:\n", "module.py")] == [1]


def test_an_exemption_that_is_not_needed_is_a_problem(findings: Findings) -> None:
    assert findings("Unbounded. <!-- wording: the title of a book -->\n") == [
        (1, "this exemption is not needed: remove it")
    ]


def test_the_command_prints_findings_and_fails(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("An endless stream.\n")
    command = [sys.executable, "-m", "tests.house.wording", str(tmp_path)]
    done = subprocess.run(command, cwd=wording.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, f"{tmp_path / 'page.md'}:1: 'endless': say unbounded\n")
    counted = subprocess.run([*command, "--count"], cwd=wording.ROOT, capture_output=True, text=True, check=False)
    assert counted.stdout.split() == ["1", str(tmp_path)]


def test_a_path_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        list(wording.files_below([Path("missing.md")]))
