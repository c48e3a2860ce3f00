"""Mutants: small faults in the code, of which the tests have to find each one.

    python -m tests.mutants draw --seed 16 --number 30   # writes tests/mutants.json; needs the extra `mutation`
    python -m tests.mutants run                          # runs the tests on each mutant, in a copy of the tree
    python -m tests.mutants run --tests near,near-spark --only 4,17
    python -m tests.mutants report                       # writes docs/testing/mutants.md

cosmic-ray lists the mutations. The seed selects positions in the source, the same number in each area, and one mutation
at each. A mutation that is drawn stays in the record, whatever the tests report.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests" / "mutants.json"
PAGE = ROOT / "docs" / "testing" / "mutants.md"

SECONDS_OF_A_TEST = 120
SECONDS_OF_A_RUN = 1500
_PASSED, _FAILED, _NO_TESTS = 0, 1, 5
"""Exit codes of pytest; with others it did not run the tests, for instance because a module could not be imported."""
_FAILURE = re.compile(r"^(?:FAILED|ERROR) ((?:tests|src)/(?:[^\[\n]+?|.+?\]))(?: - .*)?$", re.MULTILINE)
"""A test in pytest's summary; its parameters may contain what separates it from the message."""
_TYPING_ONLY = {"overload", "override"}
"""Decorators for type checkers."""

Position = tuple[int, int]
"""A line, from 1, and a column, from 0."""


@dataclass(frozen=True)
class Area:
    """A part of the code, and the tests that are about it."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    "planner": Area(
        sources=(
            "src/morisot/physical",
            "src/morisot/plan/analysis",
        ),
        tests=(
            "tests/physical",
            "tests/run/test_description.py",
            "tests/run/test_query_groups.py",
            "tests/run/test_guarantees.py",
            "tests/run/test_resumable.py",
            "tests/run/test_job.py",
            "tests/operators/test_explain.py",
            "tests/operators/test_order.py",
            "tests/operators/test_chains.py",
            "tests/operators/test_errors.py",
            "src/morisot/plan",
        ),
    ),
    "compiler": Area(
        sources=("src/morisot/compile",),
        tests=(
            "tests/compile",
            "src/morisot/compile",
            "tests/house/test_closure_corpus.py",
            "tests/properties/test_closures.py",
            "tests/properties/test_proof.py",
            "tests/operators/test_kernel.py",
            "tests/operators/test_rowwise.py",
            "tests/physical",
        ),
    ),
    "worker machines": Area(
        sources=(
            "src/morisot/worker/stateful",
            "src/morisot/worker/aggregate",
            "src/morisot/worker/rowwise",
        ),
        tests=(
            "tests/worker",
            "src/morisot/worker",
            "tests/properties/test_buckets.py",
            "tests/properties/test_timers.py",
            "tests/operators/test_window_unbounded.py",
            "tests/operators/test_state.py",
            "tests/operators/test_window.py",
            "tests/operators/test_window_join.py",
            "tests/operators/test_kernel.py",
            "tests/operators/test_aggregate.py",
            "tests/operators/test_on_error.py",
            "tests/operators/test_join.py",
            "tests/operators/test_window_on_error.py",
        ),
    ),
    "checkpoints": Area(
        sources=(
            "src/morisot/engines/spark/checkpoints",
            "src/morisot/engines/spark/internals/query_log.py",
        ),
        tests=(
            "tests/run/test_checkpoint.py",
            "tests/run/test_snapshot_files.py",
            "tests/run/test_ownership.py",
            "tests/run/test_logs.py",
            "tests/internals/test_logs.py",
            "tests/run/test_loop.py",
            "tests/recovery",
            "src/morisot/engines/spark/internals/query_log.py",
        ),
    ),
    "sinks": Area(
        sources=(
            "src/morisot/engines/spark/io",
            "src/morisot/engines/spark/streaming/sinks.py",
            "src/morisot/engines/spark/streaming/micro_batch.py",
            "src/morisot/runtime/sink_protocol.py",
            "src/morisot/engines/spark/bounded/part_sink.py",
        ),
        tests=(
            "tests/run/test_checkpoint.py",
            "tests/operators/test_sink.py",
            "tests/operators/test_unbounded_sinks.py",
            "tests/operators/test_endpoints.py",
            "tests/run/test_failures.py",
            "tests/recovery",
        ),
    ),
}


@dataclass(frozen=True)
class Mutant:
    """One fault, and what became of it."""

    number: int
    area: str
    file: str
    line: int
    operator: str
    """The name that cosmic-ray has for the mutation."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    """The lines that differ."""
    passed: tuple[str, ...] = ()
    """The groups of tests that did not find it."""
    found_by: str = ""
    test_added: bool = False
    """Whether the tests of the draw did not find it, and the test was written for it."""
    equivalent: str = ""
    """Why it behaves like the code for every input."""

    @property
    def decided(self) -> bool:
        return bool(self.found_by or self.equivalent)

    def applied_to(self, source: str) -> str:
        """The source with the fault."""
        lines, first = source.splitlines(keepends=True), self.line - 1
        last = first + len(self.before)
        if [line.rstrip("\n") for line in lines[first:last]] != list(self.before):
            raise ValueError(f"{self.file}:{self.line} is not what it was when the mutant was drawn")
        return "".join([*lines[:first], *(line + "\n" for line in self.after), *lines[last:]])


@dataclass(frozen=True)
class Record:
    """A draw."""

    seed: int
    commit: str
    """The code of which the mutants are."""
    tool: str
    positions: dict[str, int]
    """How many positions each area has."""
    mutants: list[Mutant] = field(default_factory=list)

    @classmethod
    def read(cls, file: Path) -> Record:
        content = json.loads(file.read_text("utf-8"))
        mutants = [Mutant(**{**each, **_tuples(each)}) for each in content.pop("mutants")]
        return cls(**content, mutants=mutants)

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """The lists of JSON as tuples."""
    return {name: tuple(value) for name, value in values.items() if isinstance(value, list)}


# --- draw -------------------------------------------------------------------------------------------------------------


def draw(seed: int, number: int) -> Record:
    """Mutants of the code as it is now, the same number of each area."""
    import importlib.metadata

    drawn: list[Mutant] = []
    positions: dict[str, int] = {}
    for area in AREAS:
        found = positions_of(area)
        positions[area] = len(found)
        chance = random.Random(f"{seed} {area}")
        waiting = sorted(found)
        chance.shuffle(waiting)
        wanted = len(drawn) + number // len(AREAS)
        while len(drawn) < wanted:
            file, *_ = position = waiting.pop()
            mutations = sorted(found[position])
            chance.shuffle(mutations)
            valid = (_mutant(len(drawn) + 1, area, file, operator, at) for operator, at in mutations)
            mutant = next(filter(None, valid), None)
            if mutant is not None:
                drawn.append(mutant)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    tool = f"cosmic-ray {importlib.metadata.version('cosmic-ray')}"
    return Record(seed, commit.stdout.strip(), tool, positions, drawn)


Span = tuple[str, Position, Position]


def positions_of(area: str) -> dict[Span, list[tuple[str, int]]]:
    """The parts of the source that can be mutated. A mutation is an operator, and which of its occurrences."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    names = sorted(name for name in plugins.operator_names() if not plugins.get_operator(name).arguments())
    operators = {name: plugins.get_operator(name)() for name in names}
    found: dict[Span, list[tuple[str, int]]] = defaultdict(list)
    for path in _files(AREAS[area].sources):
        source = path.read_text("utf-8")
        left_out = list(without_effect(source))
        occurrences: dict[str, int] = defaultdict(int)
        for node in ast_nodes(get_ast(source)):
            for name, operator in operators.items():
                for start, end in operator.mutation_positions(node):
                    if not any(first <= start and end <= last for first, last in left_out):
                        found[str(path.relative_to(ROOT)), start, end].append((name, occurrences[name]))
                    occurrences[name] += 1
    return found


def _files(sources: Iterable[str]) -> Iterator[Path]:
    for source in sources:
        path = ROOT / source
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def without_effect(source: str) -> Iterator[tuple[Position, Position]]:
    """What a running program does not read: annotations, docstrings, blocks for type checkers; `*` in signatures."""
    lines = source.splitlines()

    def position(line: int, offset: int) -> Position:
        return line, len(lines[line - 1].encode()[:offset].decode())

    def span(node: Any) -> tuple[Position, Position]:
        return position(node.lineno, node.col_offset), position(node.end_lineno, node.end_col_offset)

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list):
                    yield span(node.decorator_list[0])[0], span(node)[1]
                defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
                start = span(node)[0]
                for each in sorted(defaults, key=lambda default: span(default)[0]):
                    yield start, span(each)[0]
                    start = span(each)[1]
                yield start, span(node.body[0])[0]
            case ast.AnnAssign():
                yield span(node.annotation)
            case ast.Expr(value=ast.Constant(value=str())):
                yield span(node)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield span(node.test)[0], span(node.body[-1])[1]
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Name) and decorator.id in _TYPING_ONLY:
                (line, column), end = span(decorator)
                yield (line, column - 1), (end[0] + 1, 0)  # with the `@` and the end of the line


def _mutant(number: int, area: str, file: str, operator: str, occurrence: int) -> Mutant | None:
    """A mutant, unless its syntax is wrong, or it is the same program."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    source = (ROOT / file).read_text("utf-8")
    mutated = mutate_code(source, plugins.get_operator(operator)(), occurrence)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(mutated, file, "exec", dont_inherit=True)
    except (SyntaxError, SyntaxWarning, ValueError):
        return None
    if ast.dump(ast.parse(mutated)) == ast.dump(ast.parse(source)):
        return None
    old, new = source.splitlines(), mutated.splitlines()
    changes = [
        each for each in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if each[0] != "equal"
    ]
    (_, first, _, new_first, _), (_, _, last, _, new_last) = changes[0], changes[-1]
    lines = tuple(old[first:last]), tuple(new[new_first:new_last])
    return Mutant(number, area, file, first + 1, operator.removeprefix("core/"), *lines)


# --- run --------------------------------------------------------------------------------------------------------------

GROUPS = {
    "near": "not jvm and not thorough",
    "near-spark": "jvm and not program and not thorough",
    "fast": "not jvm and not thorough",
    "rest": "jvm and not thorough",
}
"""The groups of tests, and their marks. `near` are those of the area. The last two together are `make test`."""


def command_of(group: str, area: str) -> list[str]:
    """What pytest is told to run: a group, or the tests that have a path."""
    if group not in GROUPS:
        return ["-m", "not thorough", group]
    return ["-m", GROUPS[group], *(AREAS[area].tests if group.startswith("near") else ())]


class Copy:
    """A copy of the tree, in which one file at a time is another."""

    def __init__(self, directory: Path, python: str) -> None:
        self.directory = directory
        self._python = str(Path(python).absolute())  # not resolved: a link tells its virtual environment
        shutil.rmtree(directory, ignore_errors=True)
        tracked = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        for name in tracked.stdout.splitlines():
            if (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, directory / name)

    def write(self, file: str, text: str) -> None:
        path = self.directory / file
        path.write_text(text, "utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):  # Python compares times by the second
            compiled.unlink()

    def pytest(self, *arguments: str) -> tuple[int, str]:
        """The exit code of a run of tests, and what it printed."""
        source = os.pathsep.join([str(self.directory / "src"), str(self.directory)])
        shutil.rmtree(self.directory / ".hypothesis", ignore_errors=True)  # the examples that failed for another mutant
        about_the_record = ["--deselect", "tests/house/test_mutants.py::test_the_page_shows_the_record"]
        options = ["-x", "-q", "-n0", "--tb=short", "-pno:cacheprovider", "--hypothesis-seed=1", *about_the_record]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                [self._python, "-m", "pytest", *options, f"--timeout={SECONDS_OF_A_TEST}", *arguments],
                cwd=self.directory, env={**os.environ, "PYTHONPATH": source},
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(SECONDS_OF_A_RUN)
            except subprocess.TimeoutExpired:
                code = -1
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            return code, output.read()


def tried(mutant: Mutant, copy: Copy, groups: Sequence[str]) -> Mutant:
    """The mutant, with the test that found it or the groups that did not."""
    for group in groups:
        if group in mutant.passed:
            continue
        found = _finder(mutant, copy, group)
        if found:
            return replace(mutant, found_by=found)
        mutant = replace(mutant, passed=(*mutant.passed, group))
    return mutant


def _finder(mutant: Mutant, copy: Copy, group: str) -> str:
    """The first test of a group that fails with the mutant, and passes without it."""
    source = (copy.directory / mutant.file).read_text("utf-8")
    left_out: list[str] = []
    while True:
        copy.write(mutant.file, mutant.applied_to(source))
        try:
            code, output = copy.pytest(*command_of(group, mutant.area), *left_out)
        finally:
            copy.write(mutant.file, source)
        if code in (_PASSED, _NO_TESTS):
            return ""
        test = next(iter(_FAILURE.findall(output)), "") if code == _FAILED else ""
        if not test or copy.pytest(test)[0] == _PASSED:
            print(output[-1500:])
            return test or _reason(code, output)
        print(f"  {test} fails without the mutant too")
        left_out += ["--deselect", test]


def _reason(code: int, output: str) -> str:
    if code < 0:
        return "the tests did not end"
    named = _FAILURE.findall(output)
    return f"{named[0]} could not be imported" if named else "the tests could not start"


def run(file: Path, numbers: set[int], tests: Sequence[str], copy: Copy) -> None:
    """Run tests on the mutants that are not decided, and write each result."""
    for number in sorted(numbers or {each.number for each in Record.read(file).mutants}):
        mutant = next(each for each in Record.read(file).mutants if each.number == number)
        if mutant.decided:
            continue
        began = time.monotonic()
        print(f"{number} {mutant.file}:{mutant.line} {mutant.operator}", flush=True)
        result = tried(mutant, copy, tests)
        seconds = time.monotonic() - began
        print(f"  {f'found by {result.found_by}' if result.found_by else 'survived'} ({seconds:.0f} s)", flush=True)
        record = Record.read(file)  # what others have written meanwhile
        replace(record, mutants=[result if each.number == number else each for each in record.mutants]).write(file)


# --- report -----------------------------------------------------------------------------------------------------------


def report(record: Record) -> str:
    """The page."""
    mutants = record.mutants
    at_once = [each for each in mutants if each.found_by and not each.test_added]
    added = [each for each in mutants if each.test_added]
    equivalent = [each for each in mutants if each.equivalent]
    number = len(mutants) // len(AREAS)
    positions = ", ".join(f"{area} {count}" for area, count in record.positions.items())
    drawn = (
        f"{record.tool} lists the possible mutations of commit `{record.commit[:12]}`. A random generator with "
        f"the seed {record.seed} selects {number} positions in each area, and one mutation at each. The areas have "
        f"these numbers of positions: {positions}. Annotations, docstrings, blocks for type checkers and mutations "
        "that do not compile are excluded. No mutation was selected or removed by hand."
    )
    lines = [
        "# Mutants",
        "",
        "A mutant is a copy of the code with one small fault. Good tests fail on it.",
        "",
        textwrap.fill(drawn, 120),
        "",
        "| result | mutants |",
        "|---|---|",
        f"| found by the tests of that commit | {len(at_once)} |",
        f"| found by a test that was added for it | {len(added)} |",
        f"| equivalent: it behaves like the code for every input | {len(equivalent)} |",
    ]
    undecided = [str(each.number) for each in mutants if not each.decided]
    if undecided:
        lines += [f"| not decided: {', '.join(undecided)} | {len(undecided)} |"]
    lines += ["", "| | area | source | code | mutant | found by |", "|---|---|---|---|---|---|"]
    for each in mutants:
        found = f"`{_cell(each.found_by)}`" if "::" in each.found_by else each.found_by
        found = f"{found} (added)" if each.test_added else found
        found = f"equivalent: {each.equivalent}" if each.equivalent else found or "not decided"
        blank = next((index for index, line in enumerate(each.before) if line.strip()), 0)
        source = f"`{each.file.removeprefix('src/morisot/')}:{each.line + blank}`"
        lines.append(
            f"| {each.number} | {each.area} | {source} | {_code(each.before)} | {_code(each.after)} | {found} |"
        )
    lines += ["", "`python -m tests.mutants` draws mutants, runs the tests on them, and writes this page.", ""]
    return "\n".join(lines)


def _code(lines: Sequence[str]) -> str:
    """Some lines as a cell of the table."""
    text = _cell(" ".join(line.strip() for line in lines))
    return f"`` {text} ``" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m tests.mutants", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--file", type=Path, default=RECORD, help="the record of the draw and of its results")
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="draw mutants, and write them down")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--number", type=int, default=30)
    running = commands.add_parser("run", help="run the tests on each mutant that is not decided")
    running.add_argument("--tests", default=",".join(GROUPS), help=f"{', '.join(GROUPS)}, or paths of tests")
    running.add_argument("--only", default="", help="numbers of mutants")
    running.add_argument("--copy", type=Path, help="where the copy of the tree is made")
    running.add_argument("--python", default=sys.executable, help="what runs the tests")
    commands.add_parser("report", help="write the page of the results")
    options = parser.parse_args(arguments)
    match options.command:
        case "draw":
            draw(options.seed, options.number).write(options.file)
        case "run":
            with tempfile.TemporaryDirectory(prefix="morisot-mutants-") as temporary:
                copy = Copy(options.copy or Path(temporary) / "tree", options.python)
                numbers = {int(each) for each in options.only.split(",") if each}
                run(options.file, numbers, options.tests.split(","), copy)
        case "report":
            PAGE.parent.mkdir(exist_ok=True)
            PAGE.write_text(report(Record.read(options.file)), "utf-8")


if __name__ == "__main__":
    main()
