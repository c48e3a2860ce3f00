"""The documentation runs, its links lead somewhere, and it names every method.

Of a page's fenced blocks, in order and in one namespace: ```` ```python ```` runs on the reference engine (as a doctest
if it has prompts), ```` ```python spark ```` on Spark, ```` ```python norun ```` not at all. ```` ```text output ````
is what the block before it prints, ```` ```text output spark ```` what it prints on Spark.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import inspect
import io
import linecache
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import morisot as mo
from benchmarks import readme

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OPERATORS = sorted((ROOT / "docs" / "operators").glob("*.md"))
PUBLIC = (mo.StreamContext, mo.Stream, mo.KeyedStream)
FOR_STREAMS = frozenset({"plain", "without_snapshots", "keyed", "check", "add_sink", "calling", "handing_over"})
"""What streams ask of their context: no names for users."""

_BLOCK = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)
_SIGNATURE = re.compile(r"`(\w+)(\([^`]*\))`")


class Block(NamedTuple):
    line: int
    language: str
    words: list[str]
    text: str

    @property
    def file(self) -> str | None:
        """The name the program would have as a file."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    content = page.read_text(encoding="utf-8")
    blocks = []
    for found in _BLOCK.finditer(content):
        language, *words = found["info"].split()
        blocks.append(Block(content.count("\n", 0, found.start()) + 2, language, words, found["text"]))
    return blocks


def on_spark(page: Path) -> bool:
    return any(block.language == "python" and "spark" in block.words for block in blocks_of(page))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own for the files that examples write."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_page(page: Path, directory: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks_of(page):
        if "spark" in block.words and engine != "spark":
            continue
        if block.language == "text" and "output" in block.words:
            assert printed == in_this_python(block.text), f"{name_of(page)}:{block.line} prints something else"
        if block.language != "python" or "norun" in block.words:
            continue
        monkeypatch.setenv("MORISOT_ENGINE", "spark" if "spark" in block.words else "reference")
        place = f"{name_of(page)}:{block.line}"
        printed = doctested(block, names, place) if ">>>" in block.text else executed(block, names, directory, place)


def in_this_python(text: str) -> str:
    """The text of a page, with a message that Python 3.14 has changed as the running Python has it."""
    try:
        operator.floordiv(1, 0)
    except ZeroDivisionError as error:
        text = text.replace("integer division or modulo by zero", str(error))
    return text


def executed(block: Block, names: dict[str, Any], directory: Path, place: str) -> str:
    """What the program prints; its text is where a closure's source is looked for."""
    file = str(directory / (block.file or place.replace("/", "-")))
    linecache.cache[file] = (len(block.text), None, block.text.splitlines(keepends=True), file)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.text, file, "exec", dont_inherit=True), names)
    return output.getvalue()


def doctested(block: Block, names: dict[str, Any], place: str) -> str:
    test = doctest.DocTestParser().get_doctest(block.text, names, place, place, block.line)
    test.globs = names  # the next block continues with the names of this one
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples(page: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, elsewhere, "reference", monkeypatch)


LONG = {"docs/guide/testing.md", "docs/operators/join.md"}
"""Pages whose examples on Spark are for `make thorough`; on the reference engine they run always."""


@pytest.mark.jvm
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=pytest.mark.thorough if name_of(page) in LONG else ())
        for page in PAGES
        if on_spark(page)
    ],
)
def test_examples_on_spark(page: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    run_page(page, elsewhere, "spark", monkeypatch)


def anchors_of(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for path, anchor in _LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {path}, which is not there"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{name_of(page)} links to {path}{anchor}: there is no such heading"


def test_pages_are_linked() -> None:
    """Every page of docs can be reached from the README."""
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            links = _LINK.findall(page.read_text(encoding="utf-8"))
            waiting += [(page.parent / path).resolve() for path, _ in links if path]
    assert {name_of(page) for page in PAGES} - {name_of(page) for page in reached} == set()


def test_index_lists_every_page() -> None:
    """docs/README.md links to each page of docs; for the decision records, to their index."""
    index = ROOT / "docs" / "README.md"
    links = [(index.parent / path).resolve() for path, _ in _LINK.findall(index.read_text(encoding="utf-8")) if path]
    decisions = ROOT / "docs" / "decisions"
    expected = {page for page in PAGES if page.is_relative_to(index.parent) and page.parent != decisions}
    expected = expected - {index} | {decisions / "README.md"}
    assert {name_of(page) for page in expected} - {name_of(page) for page in links} == set()


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 6_000


def test_picture_is_the_plan_of_the_first_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORISOT_ENGINE", "reference")
    plan_picture = script("plan_picture")
    assert plan_picture.PICTURE.read_text(encoding="utf-8") == plan_picture.picture(), (
        "run `python docs/plan_picture.py`"
    )


@pytest.mark.parametrize("name", readme.TABLES)
def test_benchmark_tables_have_a_page(name: str) -> None:
    page, *_ = readme.TABLES[name]
    text = readme.filled((ROOT / page).read_text(encoding="utf-8"), name, "| row |\n\n" + "word " * 30)
    assert f"<!-- {name}:begin -->\n| row |\n\nword" in text
    assert "word " * 24 not in text, "lines outside tables are wrapped"


def public_names(cls: type) -> Iterator[str]:
    yield from (name for name in dir(cls) if not name.startswith("_") and name not in FOR_STREAMS)


def documented() -> list[tuple[str, str, str]]:
    """(page, method, parameters) of every signature in a heading."""
    headings = ((page, line) for page in OPERATORS for line in _HEADING.findall(page.read_text(encoding="utf-8")))
    return [(name_of(page), *found) for page, line in headings for found in _SIGNATURE.findall(line)]


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_public_name_is_documented(cls: type) -> None:
    headed = {method for _, method, _ in documented()}
    text = "".join(page.read_text(encoding="utf-8") for page in OPERATORS)
    missing = [
        name for name in public_names(cls) if name not in headed and not re.search(rf"`(?:ctx|stream)\.{name}\b", text)
    ]
    assert missing == []


def bare(method: Callable[..., Any]) -> str:
    """The signature as a reader wants it: no self, no annotations, a class by its name."""
    signature = inspect.signature(method)
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    text = str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))
    return re.sub(r"<class '(\w+)'>", r"\1", text)


@pytest.mark.parametrize(("page", "method", "parameters"), documented())
def test_signatures(page: str, method: str, parameters: str) -> None:
    found = {bare(getattr(cls, method)) for cls in PUBLIC if hasattr(cls, method)}
    assert parameters in found, f"{page} documents {method}{parameters}"
    assert found == {other for _, name, other in documented() if name == method}, f"{method} has other ways to call it"


def test_methods_of_windows() -> None:
    """What can be computed of windows is documented as `windows.method(…)`, with its signature."""
    page = (ROOT / "docs" / "operators" / "window.md").read_text(encoding="utf-8")
    headings = "\n".join(_HEADING.findall(page))
    for cls in (mo.WindowedStream, mo.KeyedWindowedStream):
        shown = {f"`windows.{name}{bare(getattr(cls, name))}`" for name in public_names(cls)}
        assert {signature for signature in shown if signature not in headings} == set()


def script(name: str) -> ModuleType:
    """A script of docs, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_operator_table_is_the_registries() -> None:
    table = script("operator_table")
    page = table.PAGE.read_text(encoding="utf-8")
    assert table.filled(page) == page, "run `python docs/operator_table.py --write`"


def test_operator_table_has_every_operator() -> None:
    table = script("operator_table").table()
    operators = {method for _, method, _ in documented()} - RUNNING
    assert {name for name in operators if f"`{name}`" not in table} == set()


def test_what_cannot_run_on_unbounded_input_says_why() -> None:
    rows = [line.split("|")[2:5] for line in script("operator_table").table().splitlines()[2:]]
    assert [methods for methods, _, unbounded in rows if unbounded.strip() == "no"] == []


RUNNING = frozenset(
    {"execute", "start", "metrics", "close", "from_args", "from_file", "explain", "draw", "forms", "name"}
)
"""Methods that are no operators."""


def test_decisions_are_numbered_and_listed() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [int(page.name[:4]) for page in decisions] == list(range(1, len(decisions) + 1))
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    for page in decisions:
        assert f"({page.name})" in index
        headings = _HEADING.findall(page.read_text(encoding="utf-8"))
        assert headings[1:] == ["Context", "Options", "Decision", "Consequences"], page.name


def test_code_in_architecture_is_the_code() -> None:
    files = (ROOT / "src").rglob("*.py")
    written = {line.strip() for file in files for line in file.read_text(encoding="utf-8").splitlines()}
    shown = (block.text for block in blocks_of(ROOT / "ARCHITECTURE.md") if "norun" in block.words)
    lines = {line.split("  # ")[0].strip() for text in shown for line in text.splitlines()}
    assert lines - written == set()
