"""Fused operators as one loop over arrays. Tracks where each leaf of the element is stored after each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morisot.types.element import Leaf, List, Type, leaves
from morisot.worker.rowwise.kernels import Kernel, loop_source, number_type
from morisot.worker.rowwise.steps import Step

Path = tuple[int, ...]


@dataclass(frozen=True)
class _Cell:
    """A leaf of the element after a step."""

    text: str
    type: Type
    column: int | None = None
    """The input column, if the leaf is unchanged."""


@dataclass(frozen=True)
class FusedLoop:
    """The steps as one loop: its text, the columns that it reads, and the origin of each leaf of the output."""

    text: str
    columns: tuple[int, ...]
    outputs: tuple[int | Type, ...]
    """An input column, or the type of a new array."""


def fuse(steps: Sequence[Step], kernels: Sequence[Kernel], input_: Type, output: Type) -> FusedLoop:
    """One loop for all steps."""
    cells = {leaf.path: _Cell(_read(index, leaf.type), leaf.type, index) for index, leaf in enumerate(leaves(input_))}
    lines: list[str] = []
    for number, (step, kernel) in enumerate(zip(steps, kernels, strict=True)):
        results = _called(number, step, kernel, cells, lines)
        match step.kind:
            case "filter":
                if not kernel.type.children:
                    lines += [f"if not {results[()].text}:", f"    status[i] = {-1 - number}", "    continue"]
            case "key_by":
                values = {
                    path[1:] if step.keyed else path: cell for path, cell in cells.items() if not _is_key(step, path)
                }
                cells = {(0, *path): cell for path, cell in results.items()}
                cells |= {(1, *path): cell for path, cell in values.items()}
            case _:
                key_cells = {path: cell for path, cell in cells.items() if _is_key(step, path)}
                root = (1,) if step.keyed else ()
                cells = key_cells | {(*root, *path): cell for path, cell in results.items()}
    return _finished(lines, cells, leaves(output))


def _is_key(step: Step, path: Path) -> bool:
    return step.keyed and path[0] == 0


def _read(column: int, type_: Type) -> str:
    """The arguments of a kernel for a leaf of the input: a number, or the items of all lists and two offsets."""
    if isinstance(type_, List):
        return f"a<{column}>_items, a<{column}>_offsets[i], a<{column}>_offsets[i + 1]"
    return f"a<{column}>[i]"


def _called(number: int, step: Step, kernel: Kernel, cells: dict[Path, _Cell], lines: list[str]) -> dict[Path, _Cell]:
    """Writes the call of one kernel. Returns the leaves of its result."""

    def given(parameter: int, path: Path) -> _Cell:
        part = 1 if step.kind == "key_by" else parameter  # a key is computed from the value only
        return cells[part, *path] if step.keyed else cells[path]

    passed = {index: given(*source) for index, source in kernel.passed}
    results: dict[Path, _Cell] = {}
    names = []
    for index, leaf in enumerate(leaves(kernel.type)):
        if index not in passed:
            names.append(f"r{number}_{index}")
        results[leaf.path] = passed.get(index) or _Cell(names[-1], number_type(leaf.type))
    arguments = ", ".join(given(*source).text for source in kernel.inputs)
    lines += [
        f"({', '.join([f'done{number}', *names])},) = kernel{number}({arguments})",
        f"if not done{number}:",
        "    status[i] = 2",
        "    continue",
    ]
    return results


def _finished(lines: list[str], cells: dict[Path, _Cell], output: Sequence[Leaf]) -> FusedLoop:
    outputs: list[int | Type] = []
    arrays = 0
    for leaf in output:
        cell = cells[leaf.path]
        if cell.column is None:
            lines.append(f"o{arrays}[i] = {cell.text}")
            arrays += 1
        outputs.append(cell.type if cell.column is None else cell.column)
    text = "\n".join(lines)
    used = sorted({int(part.split(">")[0]) for part in text.split("a<")[1:]})
    names: list[str] = []
    for index, column in enumerate(used):
        is_list = f"a<{column}>_items" in text
        names += [f"a{index}_items", f"a{index}_offsets"] if is_list else [f"a{index}"]
        text = text.replace(f"a<{column}>", f"a{index}")
    names += [f"o{index}" for index in range(arrays)]
    return FusedLoop(loop_source(text.split("\n"), names), tuple(used), tuple(outputs))
