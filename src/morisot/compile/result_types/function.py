"""The type of a function's result, where CPython guarantees it, from the types of its arguments.

The function's syntax tree is interpreted on types. Functions and methods of Python have rows in a table, which tests
compare with what CPython returns. The user's functions are interpreted where they are called. Code that is not known
may change lists, dicts and other objects in place. Where there is such code, nothing is assumed about these objects.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import types
from collections.abc import Sequence
from typing import Any

from morisot.compile.ir.values import NEVER, Known
from morisot.compile.result_types.domain import (
    WIDE,
    Found,
    Items,
    Mapping,
    entering,
    hidden,
    join_all,
    leaving,
    type_of,
)
from morisot.compile.result_types.frames import CallFrame, GiveUp, Inner, Variables
from morisot.compile.result_types.library_functions import matching
from morisot.compile.result_types.methods import FUNCTIONS, METHODS, kind_of
from morisot.compile.result_types.rows import ResultRow, TypedCall
from morisot.compile.result_types.statements import StatementTypes
from morisot.compile.syntax.reader import FunctionNode, read
from morisot.compile.table import records
from morisot.compile.verdict import Refusal
from morisot.types.element import ANY, NONE, List, Record, Type, contains_any
from morisot.types.infer import of_record_class, of_return, without_none
from morisot.types.records import is_record_class

_DEEPEST = 12
"""The depth of nested calls that are interpreted. Deeper calls are most likely recursion."""
_EMPTY: dict[type, Type] = {list: List(NEVER), dict: Mapping(NEVER, NEVER)}
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def result_type(function: object, parameters: Sequence[Type], items: bool = False) -> Type:
    """The type of what the function returns; `object` if it is not known. With `items`, a list of what it iterates.

    >>> from morisot.types.element import INT, STR
    >>> str(result_type(hash, [STR])), str(result_type(divmod, [INT, INT]))
    ('int', 'tuple[int, int]')
    """
    for opaque in (False, True):
        interpreter = Interpreter(opaque)
        arguments: list[Found] = [entering(each) for each in parameters]
        if opaque:
            arguments = [hidden(type_of(each)) for each in arguments]
        try:
            found = interpreter.called(Known(function), arguments, {}, 0)
        except (GiveUp, RecursionError):
            return ANY
        if not interpreter.impure:
            break
    if items and isinstance(found, Items):
        found = List(found.item)
    return leaving(found)


class Interpreter(StatementTypes):
    """Interprets calls."""

    def called(self, function: Found, arguments: list[Found], keywords: dict[str, Found], depth: int) -> Type:
        self.count()
        if not isinstance(function, Known):
            return self.unknown()
        target = function.object
        if isinstance(target, Inner):
            return self._inner(target, arguments, keywords, depth)
        row = _row(target)
        if row is not None:
            return self._by_row(row, arguments, keywords, depth)
        if isinstance(target, types.MethodDescriptorType) and target.__objclass__ in (str, bytes):
            return self.method(arguments[0], target.__name__, arguments[1:], keywords, depth) if arguments else ANY
        if isinstance(target, functools.partial):
            given = {name: Known(value) for name, value in target.keywords.items()} | keywords
            return self.called(Known(target.func), [*map(Known, target.args), *arguments], given, depth)
        if isinstance(target, types.MethodType):
            return self.called(Known(target.__func__), [Known(target.__self__), *arguments], keywords, depth)
        if isinstance(target, type) and is_record_class(target):
            return self._record(target, arguments, keywords)
        if isinstance(target, types.FunctionType):
            return self._function(target, arguments, keywords, depth)
        return self._declared(target) if callable(target) else self.unknown()

    def _declared(self, target: Any) -> Type:
        """The annotated result of a function that is not known otherwise. The result is tested when it is encoded."""
        self.impure = True
        found = of_return(target) if not isinstance(target, type) else None
        return entering(found) if found is not None else ANY

    def _by_row(self, row: ResultRow, arguments: list[Found], keywords: dict[str, Found], depth: int) -> Type:
        def call(function: Found, given: list[Found]) -> Type:
            return self.called(function, given, {}, depth)

        found, is_known = row.applied(TypedCall(arguments, keywords, call))
        self.impure |= not is_known
        return found

    def method(self, owner: Found, name: str, arguments: list[Found], keywords: dict[str, Found], depth: int) -> Type:
        self.count()
        if isinstance(owner, Known) and isinstance(owner.object, re.Pattern):
            found = matching(
                name,
                owner.object if isinstance(owner.object.pattern, str) else None,
                [type_of(each) for each in arguments],
            )
            return found if found != ANY and not keywords else self.unknown()
        type_ = without_none(type_of(owner))
        row = METHODS.get(kind_of(type_), {}).get(name)
        if row is not None:
            return self._by_row(row, [owner, *arguments], keywords, depth)
        if isinstance(type_, Record):
            if name == "_replace" and issubclass(type_.cls, tuple) and not arguments:
                given = dict(zip(type_.names, type_.items, strict=True)) | keywords
                return self._record(type_.cls, [], given) if set(given) == set(type_.names) else ANY
            stored = records.class_attribute(type_.cls, name)
            if isinstance(stored, types.FunctionType):
                return self.called(Known(stored), [type_, *arguments], keywords, depth)
        if isinstance(owner, Known):
            stored = inspect.getattr_static(owner.object, name, None)
            if isinstance(stored, types.FunctionType) and stored is inspect.getattr_static(
                type(owner.object), name, None
            ):
                return self.called(Known(stored), [owner, *arguments], keywords, depth)
        return self.unknown()

    def _record(self, cls: type, arguments: list[Found], keywords: dict[str, Found]) -> Type:
        """A record from the types of its fields."""
        if not records.is_plain_constructor(cls):
            return self.unknown()
        declared = of_record_class(cls)
        given: dict[str, Found] = {name: Known(value) for name, value in records.defaults(cls).items()}
        given |= {name: _EMPTY[empty] for name, empty in records.empty_defaults(cls).items()}
        given |= dict(zip(declared.names, arguments, strict=False)) | keywords
        if set(given) != set(declared.names):
            return self.unknown()
        wanted = map(entering, declared.items)
        items = (_fitting(type_, type_of(given[name])) for name, type_ in zip(declared.names, wanted, strict=True))
        return Record(cls, declared.names, tuple(items))

    def _function(
        self, function: types.FunctionType, arguments: list[Found], keywords: dict[str, Found], depth: int
    ) -> Type:
        """The result of the user's function. What the body does not tell, an annotation does."""
        found = self._interpreted(function, arguments, keywords, depth)
        if depth == 0 or not (contains_any(found) or found == WIDE):
            return found
        declared = of_return(function)
        if declared is None or declared == ANY or function.__code__.co_flags & inspect.CO_GENERATOR:
            return found
        return entering(declared)

    def _interpreted(
        self, function: types.FunctionType, arguments: list[Found], keywords: dict[str, Found], depth: int
    ) -> Type:
        if depth > _DEEPEST or function.__code__.co_flags & _ASYNC or hasattr(function, "__wrapped__"):
            return self.unknown()
        source = read(function)
        if isinstance(source, Refusal):
            return self.unknown()
        given = function.__defaults__ or ()
        spec = source.node.args
        positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
        defaults = dict(zip(positional[len(positional) - len(given) :], map(Known, given), strict=True))
        defaults |= {name: Known(value) for name, value in (function.__kwdefaults__ or {}).items()}
        frame = CallFrame(function, source.node, depth=depth + 1)
        return self._run(frame, source.node, arguments, keywords, dict(defaults))

    def _inner(self, inner: Inner, arguments: list[Found], keywords: dict[str, Found], depth: int) -> Type:
        if depth > _DEEPEST:
            return self.unknown()
        frame = CallFrame(inner.frame.function, inner.node, inner.frame, depth + 1)
        return self._run(frame, inner.node, arguments, keywords, dict(inner.defaults), inner.around)

    def _run(
        self,
        frame: CallFrame,
        node: FunctionNode,
        arguments: list[Found],
        keywords: dict[str, Found],
        bound: dict[str, Found],
        around: Variables | None = None,
    ) -> Type:
        """The type of what a function returns: the items of a generator, else the values of its returns."""
        spec = node.args
        positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
        names = {*positional, *(each.arg for each in spec.kwonlyargs)}
        if spec.vararg or spec.kwarg or len(arguments) > len(positional):
            return self.unknown()
        bound |= dict(zip(positional, arguments, strict=False))
        bound |= keywords
        if set(bound) != names:
            return self.unknown()
        variables: Variables = dict(around or {})
        for name, found in bound.items():
            frame.bind(name, found, variables)
        if isinstance(node, ast.Lambda):
            result = self.type(node.body, frame, variables)
            return Items(object, join_all(frame.yielded)) if frame.yielded else result
        loops, self._loops = self._loops, []
        ended = self.block(node.body, frame, variables)
        self._loops = loops
        if frame.yielded or any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own_nodes(node)):
            return Items(object, join_all(frame.yielded))
        return join_all([*frame.returned, *([NONE] if ended is not None else [])])


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            found += [child, *_own_nodes(child)]
    return found


def _fitting(declared: Type, actual: Type) -> Type:
    """The declared type of a field if the value fits it, else the type of the value."""
    return declared if declared != ANY and join_all([declared, actual]) == declared else actual


def _row(target: Any) -> ResultRow | None:
    try:
        return FUNCTIONS.get(target)
    except Exception:  # an object that cannot be hashed is in no table; the user's __hash__ may raise anything
        return None
