"""Continuous integration calls what the Makefile has, on the versions that the package names, and may do no more."""

from __future__ import annotations

import itertools
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
HOOKS = ROOT / ".pre-commit-config.yaml"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_MATRIX = re.compile(r"\$\{\{ *matrix\.(\w+)(?: *\|\| *'([^']*)')? *\}\}")


def parsed(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def combinations(job: dict[str, Any]) -> list[dict[str, str]]:
    """The values of a job's matrix, combined as the forge does it; what `include` adds to a combination is in it."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    more = matrix.pop("include", [])
    made = [dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values())]
    for each in more:
        same = {name: each[name] for name in matrix if name in each}
        fitting = [one for one in made if same.items() <= one.items()]
        for one in fitting:
            one.update(each)
        if not fitting:
            made.append(dict(each))
    return made


def commands(workflow: dict[str, Any]) -> Iterator[tuple[str, dict[str, str], str]]:
    """The job, the combination and the text of each command that is run."""
    for name, job in workflow["jobs"].items():
        for combination in combinations(job):
            for step in job["steps"]:
                if "run" in step:
                    text = _MATRIX.sub(lambda found: combination.get(found[1], found[2] or ""), step["run"])  # noqa: B023
                    yield name, combination, text


def targets(command: str) -> list[str]:
    """What `make` is asked for; a command of another program is refused."""
    program, *arguments = command.split()
    assert program == "make", f"`{command}` is no target of the Makefile"
    return [each for each in arguments if "=" not in each and not each.startswith("-")]


def makefile_targets() -> set[str]:
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {line.split()[1] for line in done.stdout.splitlines()}


def test_every_command_is_a_target_of_the_makefile() -> None:
    called = {target for _, _, command in commands(parsed(WORKFLOW)) for target in targets(command)}
    assert {"check", "fast", "wheel", "thorough"} <= called
    assert called <= makefile_targets()


def test_the_hooks_of_git_call_targets_of_the_makefile_and_tools_of_the_environment() -> None:
    (local,) = parsed(HOOKS)["repos"]
    assert local["repo"] == "local"  # so that constraints.txt has the versions
    tools = {re.match("[a-z-]+", each)[0] for each in PROJECT["optional-dependencies"]["dev"]}  # type: ignore[index]
    for hook in local["hooks"]:
        program, *arguments = hook["entry"].split()
        if program == "make":
            assert set(arguments) <= makefile_targets()
        else:
            assert program.removeprefix(".venv/bin/") in tools


def supported() -> list[str]:
    prefix = "Programming Language :: Python :: 3."
    return [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if each.startswith(prefix)]


def test_all_supported_pythons_run_all_tests() -> None:
    checked = {where["python"] for _, where, command in commands(parsed(WORKFLOW)) if command == "make check"}
    assert checked == set(supported())
    assert PROJECT["requires-python"] == f">={supported()[0]}"


def test_every_combination_runs_a_job_on_spark() -> None:
    workflow = parsed(WORKFLOW)
    ran = {
        (where["python"], where["java"])
        for name, where, command in commands(workflow)
        if name == "test" and {"check", "demo"} & set(targets(command))
    }
    assert ran == set(itertools.product(supported(), ["17", "21"]))


def test_jobs_may_only_read() -> None:
    workflow = parsed(WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert [step["with"] for step in checkouts] == [{"persist-credentials": False}]


def test_actions_are_the_forges_own_and_have_a_major_version() -> None:
    used = {step["uses"] for job in parsed(WORKFLOW)["jobs"].values() for step in job["steps"] if "uses" in step}
    assert [each for each in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", each)] == []


def test_the_interpreter_of_the_matrix_is_the_one_that_set_up_takes() -> None:
    for job in parsed(WORKFLOW)["jobs"].values():
        ids = {step["id"] for step in job["steps"] if step.get("uses", "").startswith("actions/setup-python@")}
        for step in job["steps"]:
            if "run" in step:
                assert step["env"]["PYTHON"] in {f"${{{{ steps.{each}.outputs.python-path }}}}" for each in ids}


@pytest.mark.parametrize("form", [file for file in FORMS if file.stem != "config"], ids=lambda file: file.stem)
def test_forms_for_issues_ask_questions(form: Path) -> None:
    content = parsed(form)
    assert {"name", "description", "body"} <= content.keys()
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions) > 0
    assert all(part["attributes"]["label"] for part in questions)


# --- the checks can fail ---


def test_what_include_adds_is_in_a_combination_or_a_new_one() -> None:
    matrix = {"a": ["1", "2"], "include": [{"a": "1", "t": "x"}, {"a": "3"}]}
    assert combinations({"strategy": {"matrix": matrix}}) == [{"a": "1", "t": "x"}, {"a": "2"}, {"a": "3"}]
    assert combinations({}) == [{}]


def test_a_matrix_may_name_the_target() -> None:
    step = {"run": "make ${{ matrix.t || 'fast demo' }} JOBS=1"}
    job = {"steps": [step], "strategy": {"matrix": {"a": ["1", "2"], "include": [{"a": "1", "t": "x"}]}}}
    found = [(where["a"], targets(command)) for _, where, command in commands({"jobs": {"j": job}})]
    assert found == [("1", ["x"]), ("2", ["fast", "demo"])]


def test_a_command_of_another_program_is_refused() -> None:
    with pytest.raises(AssertionError, match="no target of the Makefile"):
        targets("pytest -q")
