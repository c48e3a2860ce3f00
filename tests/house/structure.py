"""How the package is built: `python -m tests.house.structure` prints import cycles, crowded packages, repeated names.

An import counts wherever it is, in a function too; under `if TYPE_CHECKING:` it does not.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grimp

SOURCES = Path(__file__).parents[2] / "src" / "morisot"
MOST_MODULES = 15
"""The maximum number of modules in a package, besides `__init__` and sub-packages."""


def problems(sources: Path) -> list[str]:
    """What is wrong with the package in a directory; each with its lines."""
    return [*import_cycles(sources), *crowded_packages(sources), *repeated_names(sources)]


def import_cycles(sources: Path) -> Iterator[str]:
    """The groups of modules that import each other, directly or over others."""
    with _first_on_path(sources.parent):
        graph = grimp.build_graph(sources.name, exclude_type_checking_imports=True, cache_dir=None)
    for group in _strongly_connected(graph):
        lines = {
            (module, detail["line_number"]): detail["line_contents"].strip()
            for module in group
            for imported in group & graph.find_modules_directly_imported_by(module)
            for detail in graph.get_import_details(importer=module, imported=imported)
        }
        shown = [f"  {module}:{line}: {text}" for (module, line), text in sorted(lines.items())]
        yield "\n".join([f"{len(group)} modules import each other:", *shown])


@contextmanager
def _first_on_path(directory: Path) -> Iterator[None]:
    """So that the package of this directory is read, and not another one that is installed."""
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path.remove(str(directory))


def _strongly_connected(graph: grimp.ImportGraph) -> Iterator[set[str]]:
    """Sets of two or more modules of which each is reached from each."""
    left = set(graph.modules)
    for module in sorted(graph.modules):
        if module not in left:
            continue
        around = graph.find_upstream_modules(module) & graph.find_downstream_modules(module)
        left -= {module, *around}
        if around - {module}:
            yield {module, *around}


def crowded_packages(sources: Path) -> Iterator[str]:
    """The directories with too many modules."""
    for directory in sorted({file.parent for file in sources.rglob("*.py")}):
        modules = [file for file in directory.glob("*.py") if file.stem != "__init__"]
        if len(modules) > MOST_MODULES:
            name = directory.relative_to(sources.parent)
            yield f"{name} has {len(modules)} modules, more than {MOST_MODULES}: it needs sub-packages"


def repeated_names(sources: Path) -> Iterator[str]:
    """The names that several public classes have."""
    lines = defaultdict[str, list[str]](list)
    for file in sorted(sources.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                lines[node.name].append(f"  {file.relative_to(sources.parent)}:{node.lineno}")
    for name, found in sorted(lines.items()):
        if len(found) > 1:
            yield "\n".join([f"{len(found)} classes are called {name}:", *found])


def main() -> int:
    """Print what is wrong; 1 if something is."""
    found = problems(SOURCES)
    if found:
        print("\n\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
