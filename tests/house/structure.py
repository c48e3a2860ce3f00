"""How the package is built: `python -m tests.house.structure` prints import cycles, crowded packages, repeated names.

An import counts wherever it is, in a function too; under `if TYPE_CHECKING:` it does not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import grimp

SOURCES = Path(__file__).parents[2] / "src" / "morisot"
MOST_MODULES = 15
"""So many modules a package has at most, besides `__init__` and sub-packages."""


def problems(sources: Path) -> list[str]:
    """What is wrong with the package in a directory, which is on the path; each with its lines."""
    return [*import_cycles(sources.name), *crowded_packages(sources)]


def import_cycles(package: str) -> Iterator[str]:
    """The groups of modules that import each other, directly or over others."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    for group in _strongly_connected(graph):
        lines = [
            f"  {module}:{detail['line_number']}: {detail['line_contents'].strip()}"
            for module in sorted(group)
            for imported in sorted(group & graph.find_modules_directly_imported_by(module))
            for detail in graph.get_import_details(importer=module, imported=imported)
        ]
        yield "\n".join([f"{len(group)} modules import each other:", *lines])


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


def main() -> int:
    """Print what is wrong; 1 if something is."""
    found = problems(SOURCES)
    if found:
        print("\n\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
