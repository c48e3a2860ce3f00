"""The types of expressions, from the types of their parts."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any

from morisot.compile.ir.values import NEVER, Known
from morisot.compile.result_types import operators
from morisot.compile.result_types.domain import (
    Found,
    Items,
    Mapping,
    hidden,
    is_plain,
    item_type,
    join,
    join_all,
    type_of,
)
from morisot.compile.result_types.frames import CallFrame, GiveUp, Inner, Variables
from morisot.compile.result_types.local_containers import ADDING
from morisot.compile.result_types.methods import ATTRIBUTES, kind_of
from morisot.compile.result_types.narrowing import NarrowedTypes, path_of
from morisot.compile.table import records
from morisot.types.element import ANY, BOOL, NONE, STR, List, Record, Tuple, Type
from morisot.types.infer import without_none

_MOST_STEPS = 20_000
"""The most nodes that are interpreted for one closure."""
_MODULES = (types.ModuleType, type)


class ExpressionTypes(NarrowedTypes):
    """Interprets expressions. With `opaque`, objects that can be changed in place have no type."""

    def __init__(self, opaque: bool) -> None:
        super().__init__()
        self.opaque = opaque
        self.impure = False
        """Whether code was found that may change objects in place, or that is not known."""
        self._steps = 0
        self._containers: dict[int, tuple[Any, Type]] = {}

    def unknown(self) -> Type:
        """The result of code that is not known, and that may change objects in place."""
        self.impure = True
        return ANY

    def count(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise GiveUp

    def found(self, node: ast.expr, frame: CallFrame, variables: Variables) -> Found:
        """The type of an expression, or the object that it is."""
        self.count()
        if (path := path_of(node)) is not None and path in variables and not isinstance(node, ast.Name):
            found = variables[path]
        else:
            rule: Callable[..., Found] | None = getattr(self, f"on_{type(node).__name__.lower()}", None)
            found = self.unknown() if rule is None else rule(node, frame, variables)
        if isinstance(found, Known) and type(found.object) in (list, dict, set, frozenset):
            found = self._container(found.object)
        if not self.opaque or (isinstance(node, ast.Name) and node.id in frame.local):
            return found
        if isinstance(found, Known):
            return ANY if hidden(type_of(found)) != type_of(found) else found
        return hidden(found)

    def _container(self, captured: Any) -> Type:
        """The type of a captured container, computed once."""
        if id(captured) not in self._containers:
            self._containers[id(captured)] = captured, type_of(Known(captured))
        return self._containers[id(captured)][1]

    def type(self, node: ast.expr, frame: CallFrame, variables: Variables) -> Type:
        """The type of an expression."""
        return type_of(self.found(node, frame, variables))

    def called(self, function: Found, arguments: list[Found], keywords: dict[str, Found], depth: int) -> Type:
        """The result of a call."""
        raise NotImplementedError

    def method(self, owner: Found, name: str, arguments: list[Found], keywords: dict[str, Found], depth: int) -> Type:
        """The result of a call of a method."""
        raise NotImplementedError

    def on_constant(self, node: ast.Constant, *_: Any) -> Found:
        return Known(node.value)

    def on_name(self, node: ast.Name, frame: CallFrame, variables: Variables) -> Found:
        return frame.lookup(node.id, variables)

    def on_namedexpr(self, node: ast.NamedExpr, frame: CallFrame, variables: Variables) -> Found:
        found = self.found(node.value, frame, variables)
        frame.bind(node.target.id, found, variables)
        return found

    def on_binop(self, node: ast.BinOp, frame: CallFrame, variables: Variables) -> Found:
        left, right = self.found(node.left, frame, variables), self.found(node.right, frame, variables)
        return self.operated(node.op, left, right)

    def operated(self, operator: ast.operator, left: Found, right: Found) -> Type:
        """The result of an operator."""
        result = operators.binary(operator, left, right)
        plain = is_plain(type_of(left)) and is_plain(type_of(right))
        return result if plain or result != ANY else self.unknown()

    def on_unaryop(self, node: ast.UnaryOp, frame: CallFrame, variables: Variables) -> Found:
        operand = self.found(node.operand, frame, variables)
        if isinstance(operand, Known) and isinstance(node.op, ast.USub) and type(operand.object) in (int, float):
            return Known(-operand.object)
        if not is_plain(type_of(operand)):
            self.truth(type_of(operand))
        return operators.unary(node.op, operand)

    def truth(self, type_: Type) -> None:
        """Notes that a value is tested: `__bool__` and `__len__` of a class may be the user's."""
        if type_ == ANY or (isinstance(type_, Record) and not records.is_always_true(type_.cls)):
            self.impure = True

    def on_boolop(self, node: ast.BoolOp, frame: CallFrame, variables: Variables) -> Found:
        is_or = isinstance(node.op, ast.Or)
        result: Type = NEVER
        for value in node.values[:-1]:
            found = self.type(value, frame, variables)
            self.truth(found)
            result = join(result, without_none(found) if is_or and found != NONE else NEVER if is_or else found)
            variables = self.narrowed(value, not is_or, frame, variables)
        return join(result, self.type(node.values[-1], frame, variables))

    def on_ifexp(self, node: ast.IfExp, frame: CallFrame, variables: Variables) -> Found:
        self.truth(self.type(node.test, frame, variables))
        then = self.found(node.body, frame, self.narrowed(node.test, True, frame, variables))
        otherwise = self.found(node.orelse, frame, self.narrowed(node.test, False, frame, variables))
        return join(type_of(then), type_of(otherwise))

    def on_compare(self, node: ast.Compare, frame: CallFrame, variables: Variables) -> Found:
        operands = [node.left, *node.comparators]
        types_ = [self.type(each, frame, variables) for each in operands]
        plain = all(map(is_plain, types_))
        identity = all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops)
        if plain or identity:
            return BOOL
        self.impure = True
        return BOOL if all(isinstance(each, ast.Is | ast.IsNot | ast.In | ast.NotIn) for each in node.ops) else ANY

    def on_joinedstr(self, node: ast.JoinedStr, frame: CallFrame, variables: Variables) -> Found:
        plain = [self._formatted(each, frame, variables) for each in node.values]
        return STR if all(plain) or len(plain) > 1 else ANY

    def _formatted(self, node: ast.expr, frame: CallFrame, variables: Variables) -> bool:
        """Whether a part of an f-string runs no code of the user."""
        if not isinstance(node, ast.FormattedValue):
            return True
        plain = is_plain(self.type(node.value, frame, variables))
        if node.format_spec is not None:
            self.type(node.format_spec, frame, variables)
        self.impure |= not plain
        return plain

    def on_tuple(self, node: ast.Tuple, frame: CallFrame, variables: Variables) -> Found:
        items: list[Type] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                inner = self.type(each.value, frame, variables)
                if not isinstance(inner, Tuple):
                    return Items(tuple, ANY) if is_plain(inner) else self.unknown()
                items += inner.items
            else:
                items.append(self.type(each, frame, variables))
        return Tuple(tuple(items))

    def items(self, nodes: list[ast.expr], frame: CallFrame, variables: Variables) -> Type:
        """The type of the items of a display."""
        return join_all([self._item(each, frame, variables) for each in nodes])

    def _item(self, node: ast.expr, frame: CallFrame, variables: Variables) -> Type:
        if isinstance(node, ast.Starred):
            return self.iterated(self.type(node.value, frame, variables))
        return self.type(node, frame, variables)

    def iterated(self, type_: Type) -> Type:
        """The type of the items of an iterable."""
        item = item_type(type_)
        known = isinstance(without_none(type_), List | Items | Mapping | Tuple)
        return item if item != ANY or known else self.unknown()

    def on_list(self, node: ast.List, frame: CallFrame, variables: Variables) -> Found:
        return List(self.items(node.elts, frame, variables))

    def on_set(self, node: ast.Set, frame: CallFrame, variables: Variables) -> Found:
        return Items(set, self.items(node.elts, frame, variables))

    def on_dict(self, node: ast.Dict, frame: CallFrame, variables: Variables) -> Found:
        key: Type = NEVER
        value: Type = NEVER
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            found = self.type(value_node, frame, variables)
            if key_node is not None:
                key, value = join(key, self.type(key_node, frame, variables)), join(value, found)
            elif isinstance(found, Mapping):
                key, value = join(key, found.key), join(value, found.value)
            else:
                return self.unknown()
        return Mapping(key, value)

    def on_listcomp(self, node: ast.ListComp, frame: CallFrame, variables: Variables) -> Found:
        return List(self.type(node.elt, frame, self._inside(node.generators, frame, variables)))

    def on_setcomp(self, node: ast.SetComp, frame: CallFrame, variables: Variables) -> Found:
        return Items(set, self.type(node.elt, frame, self._inside(node.generators, frame, variables)))

    def on_generatorexp(self, node: ast.GeneratorExp, frame: CallFrame, variables: Variables) -> Found:
        """It runs later: a variable that is set again may then have another type."""
        now = {name: ANY if frame.stored[name] > 1 else found for name, found in variables.items()}
        return Items(object, self.type(node.elt, frame, self._inside(node.generators, frame, now, variables)))

    def on_dictcomp(self, node: ast.DictComp, frame: CallFrame, variables: Variables) -> Found:
        inner = self._inside(node.generators, frame, variables)
        return Mapping(self.type(node.key, frame, inner), self.type(node.value, frame, inner))

    def _inside(
        self,
        generators: list[ast.comprehension],
        frame: CallFrame,
        variables: Variables,
        first: Variables | None = None,
    ) -> Variables:
        """The variables inside a comprehension. The first iterable is evaluated outside."""
        inner = dict(variables)
        for number, generator in enumerate(generators):
            source = first if first is not None and number == 0 else inner
            if generator.is_async:
                raise GiveUp
            self._check_lambdas(generators, frame)
            self.unpack(generator.target, self.iterated(self.type(generator.iter, frame, source)), inner)
            for test in generator.ifs:
                self.truth(self.type(test, frame, inner))
                inner = self.narrowed(test, True, frame, inner)
        return inner

    def _check_lambdas(self, generators: list[ast.comprehension], frame: CallFrame) -> None:
        """Gives up where a name is a variable of the function and of the comprehension."""
        for generator in generators:
            names = (each.id for each in ast.walk(generator.target) if isinstance(each, ast.Name))
            if any(frame.stored[name] for name in names):
                raise GiveUp

    def unpack(self, target: ast.expr, found: Found, variables: Variables, frame: CallFrame | None = None) -> None:
        """Sets the variables of a target. In a comprehension they are not those of the function."""
        match target:
            case ast.Name(id=name) if frame is not None:
                frame.bind(name, found, variables)
            case ast.Name(id=name):
                for path in [path for path in variables if path.startswith((f"{name}.", f"{name}["))]:
                    del variables[path]
                variables[name] = found
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, type_ in zip(parts, self._parts(parts, type_of(found)), strict=True):
                    self.unpack(part, type_, variables, frame)
            case ast.Starred(value=inner):
                self.unpack(inner, List(type_of(found)), variables, frame)
            case _:
                self.impure = True

    def _parts(self, parts: list[ast.expr], type_: Type) -> list[Type]:
        """The types of the items that are unpacked to some targets; the item of a starred one."""
        items = [child for _, child in without_none(type_).children]
        starred = any(isinstance(part, ast.Starred) for part in parts)
        if isinstance(type_, Tuple) and len(items) == len(parts) and not starred:
            return items
        return [self.iterated(type_)] * len(parts)

    def on_subscript(self, node: ast.Subscript, frame: CallFrame, variables: Variables) -> Found:
        owner = self.type(node.value, frame, variables)
        if isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper, node.slice.step)
            given = [Known(None) if each is None else self.found(each, frame, variables) for each in bounds]
            constant = all(isinstance(each, Known) for each in given)
            constants = tuple(getattr(each, "object", None) for each in given) if constant else None
            result = operators.slice_of(owner, constants)
        else:
            result = operators.element_at(owner, self.found(node.slice, frame, variables))
        return result if result != ANY or is_plain(owner) or owner.children else self.unknown()

    def on_attribute(self, node: ast.Attribute, frame: CallFrame, variables: Variables) -> Found:
        owner = self.found(node.value, frame, variables)
        if isinstance(owner, Known) and isinstance(owner.object, _MODULES):
            return self._attribute_of(owner.object, node.attr)
        return self._field(type_of(owner), node.attr, frame)

    def _attribute_of(self, owner: Any, name: str) -> Found:
        """A name of a module or a class."""
        stored = inspect.getattr_static(owner, name, None)
        if isinstance(stored, property) or (stored is None and not hasattr(owner, name)):
            return self.unknown()
        return Known(getattr(owner, name))

    def _field(self, owner: Type, name: str, frame: CallFrame) -> Type:
        owner = without_none(owner)
        if isinstance(owner, Record):
            if name in owner.names and records.is_plain_field(owner.cls, name):
                return owner.items[owner.names.index(name)]
            stored = records.class_attribute(owner.cls, name)
            if isinstance(stored, property) and stored.fget is not None:
                return self.called(Known(stored.fget), [owner], {}, frame.depth)
            return self.unknown()
        found = ATTRIBUTES.get(kind_of(owner), {}).get(name)
        return self.unknown() if found is None else found

    def on_call(self, node: ast.Call, frame: CallFrame, variables: Variables) -> Found:
        arguments: list[Found] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                spread = self.type(each.value, frame, variables)
                if not isinstance(spread, Tuple):
                    return self.unknown()
                arguments += spread.items
            else:
                arguments.append(self.found(each, frame, variables))
        keywords = {each.arg: self.found(each.value, frame, variables) for each in node.keywords if each.arg}
        if any(each.arg is None for each in node.keywords):
            return self.unknown()
        if isinstance(node.func, ast.Attribute):
            if self._is_adding(node.func, frame):
                return self._added(node.func, arguments, frame)
            owner = self.found(node.func.value, frame, variables)
            if not (isinstance(owner, Known) and isinstance(owner.object, _MODULES)):
                return self.method(owner, node.func.attr, arguments, keywords, frame.depth)
        return self.called(self.found(node.func, frame, variables), arguments, keywords, frame.depth)

    def _is_adding(self, method: ast.Attribute, frame: CallFrame) -> bool:
        return isinstance(method.value, ast.Name) and method.value.id in frame.local and method.attr in ADDING

    def _added(self, method: ast.Attribute, arguments: list[Found], frame: CallFrame) -> Found:
        """`append` or `extend` of a list that only this call can change."""
        types_ = [type_of(each) for each in arguments]
        items = types_ if method.attr == "append" else [self.iterated(each) for each in types_]
        assert isinstance(method.value, ast.Name)
        frame.fill(method.value.id, List(join_all(items)))
        return NONE

    def on_lambda(self, node: ast.Lambda, frame: CallFrame, variables: Variables) -> Found:
        return Known(Inner(node, frame, self.defaults(node.args, frame, variables), frame.unstored(variables)))

    def defaults(self, spec: ast.arguments, frame: CallFrame, variables: Variables) -> dict[str, Found]:
        """The default values of parameters."""
        positional = [*spec.posonlyargs, *spec.args]
        last = positional[len(positional) - len(spec.defaults) :]
        pairs = [*zip(last, spec.defaults, strict=True), *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
        return {
            argument.arg: self.found(default, frame, variables) for argument, default in pairs if default is not None
        }

    def on_yield(self, node: ast.Yield, frame: CallFrame, variables: Variables) -> Found:
        frame.yielded.append(NONE if node.value is None else self.type(node.value, frame, variables))
        return ANY

    def on_yieldfrom(self, node: ast.YieldFrom, frame: CallFrame, variables: Variables) -> Found:
        frame.yielded.append(self.iterated(self.type(node.value, frame, variables)))
        return ANY
