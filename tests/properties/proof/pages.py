"""Generated functions as a user's: text in a file, compiled and loaded from there."""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import Type
from tests.properties.proof.world import NAMESPACE


@dataclass(frozen=True)
class Case:
    """A generated function with its text and the types of its parameters."""

    text: str
    function: Callable[..., Any]
    types: tuple[Type, ...]

    def closure(self, operator: str = "map", returns: Type | None = None) -> Closure:
        return Closure(self.function, Location(self.function.__code__.co_filename, 1), operator, returns=returns)


class Pages:
    """Files in a directory that goes away in the end."""

    def __init__(self, directory: Path) -> None:
        self._paths = (directory / f"page{number}.py" for number in itertools.count())

    def load(self, texts: list[str], types: tuple[Type, ...]) -> list[Case]:
        """The functions that the texts define, each as `f<number>`; a text that Python refuses is left out."""
        fine = [text for text in texts if _compiles(text)]
        page, namespace = next(self._paths), dict(NAMESPACE)
        page.write_text("\n".join(fine), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(page.read_text(encoding="utf-8"), str(page), "exec", dont_inherit=True), namespace)
        return [Case(text, namespace[_name(text)], types) for text in fine]


def _name(text: str) -> str:
    return text.removeprefix("def ").split("(")[0].split(" ")[0]


def _compiles(text: str) -> bool:
    """Not so for a := where Python allows none, or a name that Python takes for another's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<generated>", "exec")
        except SyntaxError:
            return False
    return True


@contextmanager
def temporary_pages() -> Iterator[Pages]:
    with tempfile.TemporaryDirectory(prefix="morisot-proof-") as directory:
        yield Pages(Path(directory))
