"""Generated functions: lambdas, and bodies of statements with branches, early returns, matches and loops."""

# ruff: noqa: E501 - a row of a table is a line

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from morisot.types.element import Type
from tests.properties.proof.grammar import KERNEL_TEMPLATES, KINDS, Grammar

Names = dict[str, str]


@dataclass(frozen=True)
class Signature:
    """The parameters of generated closures, and the kinds of results asked of them."""

    parameters: Mapping[str, str]
    results: tuple[str, ...]

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(KINDS[kind] for kind in self.parameters.values())


SIGNATURES = (
    Signature({"a": "int", "b": "int", "x": "float", "y": "float", "p": "bool"}, ("int", "float", "bool", "str", "numbers")),
    Signature({"s": "str", "t": "str", "n": "int", "p": "bool"}, ("str", "int", "bool", "texts", "pair", "bytes", "float")),
    Signature({"d": "date", "e": "date", "t": "time", "u": "time", "n": "int"}, ("date", "time", "int", "bool", "str")),
    Signature(
        {"m": "maybe_int", "g": "maybe_float", "s": "maybe_str", "n": "int"},
        ("maybe_int", "int", "bool", "maybe_str", "float", "maybe_pair"),
    ),
    Signature(
        {"h": "maybe_pair", "w": "maybe_time", "d": "maybe_date", "l": "maybe_ints", "i": "maybe_point", "p": "maybe_bool", "n": "int"},
        ("bool", "int", "maybe_pair", "maybe_time", "maybe_date", "maybe_bool", "maybe_ints", "str"),
    ),
    Signature(
        {"q": "pair", "r": "point", "o": "order", "z": "nest", "n": "int"},
        ("point", "order", "pair", "int", "bool", "str", "nest"),
    ),
    Signature(
        {"xs": "ints", "ws": "texts", "fs": "floats", "ps": "pairs", "k": "dict", "n": "int"},
        ("ints", "texts", "int", "bool", "str", "dict", "pairs", "floats"),
    ),
)  # fmt: skip
NUMBERS = Signature({"a": "int", "b": "int", "x": "float", "y": "float"}, ("int", "float", "numbers", "bool"))
NUMBER_LISTS = Signature({**NUMBERS.parameters, "xs": "ints", "fs": "floats"}, NUMBERS.results)
"""The parameters of kernels, without and with lists."""


_FAILURES = (
    "ZeroDivisionError",
    "ValueError",
    "IndexError",
    "KeyError",
    "(IndexError, ValueError)",
    "ArithmeticError",
    "AssertionError",
    "LookupError",
    "Exception",
)
_MAY_FAIL = (
    "(<int> {//|%} <int>)",
    "int(<str>)",
    "ord(<str>[<int>])",
    "{'a': <int>}[<str>]",
    "[<int>, 7][<int>]",
    "SIZES[<str>]",
    "(int(<str>) // <int>)",
)


class Bodies:
    """Makes functions that have a signature."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.grammar = Grammar(chance)
        self.numbers = Grammar(chance, KERNEL_TEMPLATES)

    def function(self, signature: Signature, name: str) -> str:
        """A function for columns and stages: half of them lambdas."""
        result = self.chance.choice(signature.results)
        if self.chance.random() < 0.5:
            text = self.grammar.expression(result, signature.parameters, self.chance.choice([1, 2, 2, 3]))
            return f"{name} = lambda {', '.join(signature.parameters)}: {text}\n"
        lines = self._body(dict(signature.parameters), result, 3)
        return "\n".join([f"def {name}({', '.join(signature.parameters)}):", *(f"    {line}" for line in lines)]) + "\n"

    # -- straight code, branches and matches -------------------------------------------------------------------------

    def _body(self, names: Names, result: str, length: int) -> list[str]:
        """Statements that end in a return; every variable that is set is returned in some way or read before."""
        lines: list[str] = []
        for _ in range(self.chance.randint(1, length)):
            ways = [self._assignment, self._assignment, self._choice, self._early, self._match, self._try, self._raise]
            lines += self.chance.choice(ways)(names, result)
        return [*lines, f"return {self.grammar.expression(result, names, 2)}"]

    def _assignment(self, names: Names, _: str) -> list[str]:
        kind = self.chance.choice(["int", "str", "bool", "float", *names.values()])
        name = self.grammar.fresh()
        text = self.grammar.expression(kind, names, 1)
        again = [one for one, of in names.items() if of == "int"]
        if again and self.chance.random() < 0.3:
            name = self.chance.choice(again)
            return [
                f"{name} {self.chance.choice(['+', '-', '*', '//', '%', '&'])}= {self.grammar.expression('int', names, 1)}"
            ]
        if self.chance.random() < 0.2:
            other, second = self.grammar.fresh(), self.grammar.expression("int", names, 1)
            names[name], names[other] = kind, "int"
            return [f"{name}, {other} = {text}, {second}"]
        names[name] = kind
        return [f"{name} = {text}"]

    def _choice(self, names: Names, _: str) -> list[str]:
        """A variable that is set in every branch, to different values."""
        kind = self.chance.choice(["int", "str", "bool", "float", *names.values()])
        name = self.grammar.fresh()
        tests = [self.grammar.expression("bool", names, 1) for _ in range(self.chance.randint(1, 2))]
        lines: list[str] = []
        for place, test in enumerate(tests):
            lines += [f"{'elif' if place else 'if'} {test}:", f"    {name} = {self.grammar.expression(kind, names, 1)}"]
        lines += ["else:", f"    {name} = {self.grammar.expression(kind, names, 1)}"]
        names[name] = kind
        return lines

    def _early(self, names: Names, result: str) -> list[str]:
        test = self.grammar.expression("bool", names, 1)
        return [f"if {test}:", f"    return {self.grammar.expression(result, names, 1)}"]

    def _match(self, names: Names, result: str) -> list[str]:
        kind = self.chance.choice(["int", "str", "pair"])
        subject = self.grammar.expression(kind, names, 1)
        new = self.grammar.fresh()
        cases: dict[str, list[tuple[str, Names]]] = {
            "int": [("0", {}), ("1 | 2 | -1", {}), (f"{new} if {new} > 50", {new: "int"}), ("7", {})],
            "str": [("''", {}), ("'a' | ','", {}), (f"{new} if {new} < 'b'", {new: "str"}), ("'ß'", {})],
            "pair": [("(0, _)", {}), (f"(1 | 7, {new})", {new: "str"}), (f"({new}, 'a')", {new: "int"})],
        }
        chosen = self.chance.sample(cases[kind], self.chance.randint(1, 3))
        lines = [f"match {subject}:"]
        for pattern, bound in chosen:
            value = self.grammar.expression(result, {**names, **bound}, 1)
            lines += [f"    case {pattern}:", f"        return {value}"]
        return lines

    def _try(self, names: Names, result: str) -> list[str]:
        """Operations that fail in different ways, of which some are handled: the first failure decides."""
        inside = dict(names)
        lines = ["try:"]
        for _ in range(self.chance.randint(0, 2)):
            statement = self._raise(inside, result) if self.chance.random() < 0.2 else self._failing(inside)
            lines += [f"    {line}" for line in statement]
        lines.append(f"    return {self.grammar.expression(result, inside, 2)}")
        for handled in self.chance.sample(_FAILURES, self.chance.randint(1, 2)):
            lines += [f"except {handled}:", f"    return {self.grammar.expression(result, names, 1)}"]
        return lines

    def _raise(self, names: Names, _: str) -> list[str]:
        test = self.grammar.expression("bool", names, 1)
        failure = self.chance.choice(
            ["raise ValueError", f"raise KeyError({self.grammar.expression('str', names, 1)})"]
        )
        return self.chance.choice([[f"if {test}:", f"    {failure}"], [f"assert {test}"]])

    def _failing(self, names: Names) -> list[str]:
        name = self.grammar.fresh()
        template = self.chance.choice(_MAY_FAIL)
        text = self.grammar.filled(template, names, 1)
        names[name] = "int"
        return [f"{name} = {text}"]

    # -- loops over numbers ------------------------------------------------------------------------------------------

    def loop(self, name: str, signature: Signature = NUMBERS) -> str:
        """A function over numbers, for kernels: statements with loops."""
        result = self.chance.choice(signature.results)
        names = dict(signature.parameters)
        lines = ["i = 0", *self._numbers(names, result, 2, looped=False)]
        lines.append(f"return {self.numbers.expression(result, {**names, 'i': 'int'}, 2)}")
        return "\n".join([f"def {name}({', '.join(names)}):", *(f"    {line}" for line in lines)]) + "\n"

    def _numbers(self, names: Names, result: str, depth: int, *, looped: bool) -> list[str]:
        lines: list[str] = []
        scope = {**names, "i": "int"}
        ways: list[Callable[[], list[str]]] = [
            lambda: [f"{self.chance.choice('ab')} = {self._number('int', scope)}"],
            lambda: [f"{self.chance.choice('xy')} = {self._number('float', scope)}"],
            lambda: [f"a, b = b, {self._number('int', scope)}"],
            lambda: [f"{self.chance.choice('ab')} {self.chance.choice('+-*')}= {self._number('int', scope, 0)}"],
            lambda: [f"x {self.chance.choice('+-*')}= {self._number('float', scope, 0)}"],
            lambda: [f"if {self._number('bool', scope)}:", f"    return {self._number(result, scope)}"],
        ]
        if looped:
            ways.append(
                lambda: [f"if {self._number('bool', scope)}:", f"    {self.chance.choice(['break', 'continue'])}"]
            )
        if depth > 0 and "ints" in names.values():
            ways += [lambda: self._each(names, result, depth)] * 3
        if depth > 0:
            ways += [
                lambda: self._branches(names, result, depth, looped),
                lambda: self._for(names, result, depth, scope),
                lambda: self._while(names, result, depth, scope),
            ]
        for _ in range(self.chance.randint(1, 3)):
            lines += self.chance.choice(ways)()
        return lines

    def _number(self, kind: str, names: Names, depth: int = 1) -> str:
        return self.numbers.expression(kind, names, depth)

    def _branches(self, names: Names, result: str, depth: int, looped: bool) -> list[str]:
        then, otherwise = (self._numbers(names, result, depth - 1, looped=looped) for _ in range(2))
        test = self._number("bool", {**names, "i": "int"})
        return [f"if {test}:", *(f"    {line}" for line in then), "else:", *(f"    {line}" for line in otherwise)]

    def _for(self, names: Names, result: str, depth: int, scope: Names) -> list[str]:
        start, step = self.chance.choice(["0", "-2", "b % 3"]), self.chance.choice(["1", "2", "-1", "a % 3 + 1"])
        body = self._numbers(names, result, depth - 1, looped=True)
        head = f"for i in range({start}, {self._number('int', scope)} % 7, {step}):"
        return [head, *(f"    {line}" for line in body)]

    def _each(self, names: Names, result: str, depth: int) -> list[str]:
        """A loop over the items of lists, which may start or end inside them."""
        item = self.grammar.fresh()
        ints, floats = (next(name for name, of in names.items() if of == kind) for kind in ("ints", "floats"))
        part = self.chance.choice(["", "", "[1:]", "[:-1]", "[a:b]", "[-2:]"])
        head, bound = self.chance.choice([
            (f"for {item} in {ints}{part}:", {item: "int"}),
            (f"for {item} in {floats}{part}:", {item: "float"}),
            (f"for i, {item} in enumerate({ints}{part}):", {item: "int"}),
            (f"for i, {item} in zip({ints}, {ints}{part}):", {item: "int"}),
            (f"for i, {item} in zip({ints}{part}, {floats}):", {item: "float"}),
        ])  # fmt: skip
        body = self._numbers({**names, **bound}, result, depth - 1, looped=True)
        return [head, *(f"    {line}" for line in body)]

    def _while(self, names: Names, result: str, depth: int, scope: Names) -> list[str]:
        """Ends after a few rounds, whatever the body does."""
        count = self.grammar.fresh()
        body = self._numbers(names, result, depth - 1, looped=True)
        head = [f"{count} = 0", f"while {count} < 6 and {self._number('bool', scope)}:", f"    {count} += 1"]
        return [*head, *(f"    {line}" for line in body)]
