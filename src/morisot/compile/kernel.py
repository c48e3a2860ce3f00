"""Functions over numbers as kernels: from the syntax tree to the text of a function for numba, with every step checked.

The user's function itself is never given to numba, which wraps on overflow and has types of its own. Each function
of the generated text returns whether it could and its result; a row it could not do is done again in Python.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from morisot.compile import kernel_calls, records
from morisot.compile.kernel_arithmetic import binary, compare, integer, truth, unary
from morisot.compile.kernel_terms import BAD, Program, Term, Unclear, Writer, leaf_types, literal, rebuilt, term_of
from morisot.compile.reader import FunctionNode, read
from morisot.compile.scope import Refused, Scope, Sharing, refuse
from morisot.compile.translate import STAGE, comes_with_python, shown
from morisot.compile.values import Known
from morisot.compile.verdict import Refusal
from morisot.types.element import ANY, BOOL, INT, NONE, Keyed, Optional, Product, Record, Tuple, Type, leaves
from morisot.types.infer import is_record_class
from morisot.worker.kernels import Kernel

State = dict[str, Term | Unclear]
"""The variables that are set on every way to a place."""

_ENTRY = "kernel"
_FAR = 2**62


def compile_kernel(function: Any, parameters: Sequence[Type], declared: Type | None) -> tuple[Type, Kernel] | Refusal:
    """The function as a kernel with its result's type, or why that cannot be."""
    program = Program()
    plain = [Tuple((type_.key, type_.value)) if isinstance(type_, Keyed) else type_ for type_ in parameters]
    arguments = [term_of(type_, f"p{place}") for place, type_ in enumerate(plain)]
    try:
        if isinstance(function, types.FunctionType):
            result = FunctionWriter(program, function, ast.Pass()).run(_ENTRY, arguments, {})
        elif kernel_calls.understood(function):
            result = _builtin(program, function, arguments)
        else:
            refuse(None, f"{shown(function)} has no kernel form", STAGE)
        result = _as_declared(result, declared)
        inputs = _used_inputs(program, plain)
        _check_rows_in_python(program, inputs, declared)
    except Refused as refused:
        return refused.refusal
    except RecursionError:
        return Refusal("the function is nested too deeply", advice="split it into several operators")
    return result, Kernel("\n".join(program.functions), tuple(place[:2] for place in inputs), result)


def _builtin(program: Program, function: Any, arguments: Sequence[Term]) -> Type:
    """A kernel of one call: `map(math.sin)`."""
    out = Writer(program)
    result = kernel_calls.call(out, ast.Pass(), function, arguments)
    out.line(f"return ({', '.join(['True', *(leaf.text for leaf in result.leaves())])},)")
    program.functions.append(out.finish(_ENTRY, _texts(arguments), result.type))
    return result.type


def _as_declared(result: Type, declared: Type | None) -> Type:
    """The declared type, if the columns of the result are those of it."""
    if declared in (None, ANY, result):
        return result
    assert declared is not None
    places, wanted = leaves(result), leaves(declared)
    same = len(places) == len(wanted) and all(
        a.path == b.path and b.type in (a.type, Optional(a.type)) for a, b in zip(places, wanted, strict=True)
    )
    classes = {type_.cls for type_ in (result, declared) if isinstance(type_, Record)}
    if not same or (declared.children and type(result) is not type(declared)) or len(classes) > 1:
        refuse(
            None,
            f"the function is declared to return {declared} and returns {result}",
            "correct the return annotation (or returns=), or convert the value",
        )
    return declared


def _used_inputs(program: Program, parameters: Sequence[Type]) -> list[tuple[int, tuple[int, ...], Type]]:
    """The leaves of the parameters that the kernel reads; its parameters become just those."""
    head, _, body = program.functions[-1].partition("\n")
    for copy in re.findall(r"^    \w+ = p\d+(?:_\d+)*\n", body, re.MULTILINE):
        if len(re.findall(rf"\b{copy.split()[0]}\b", body)) == 1:
            body = body.replace(copy, "", 1)
    found = []
    names = []
    for place, type_ in enumerate(parameters):
        for leaf in leaves(type_):
            name = "_".join([f"p{place}", *map(str, leaf.path)])
            if re.search(rf"\b{name}\b", body):
                found.append((place, leaf.path, leaf.type))
                names.append(name)
    assert head.startswith(f"def {_ENTRY}(")
    program.functions[-1] = f"def {_ENTRY}({', '.join(names)}):\n{body}"
    return found


def _check_rows_in_python(
    program: Program, inputs: Sequence[tuple[int, tuple[int, ...], Type]], declared: Type | None
) -> None:
    """Where a row that runs in Python may give another type, the user has to say which one it should be."""
    reason = program.may_differ
    if any(isinstance(type_, Optional) for _, _, type_ in inputs):
        reason = "what it gives for None is not known"
    if reason and declared in (None, ANY):
        refuse(None, f"the type of the result is not certain: {reason}", "annotate the return type, or pass returns=")


class FunctionWriter:
    """Writes one function of the user's as one generated function."""

    def __init__(self, program: Program, function: types.FunctionType, caller: ast.AST) -> None:
        if function in program.active:
            refuse(caller, f"{function.__name__} calls itself", "write it as a loop")
        self.program = program
        self.function = function
        self.scope = Scope(function, Sharing())
        self.out = Writer(program)
        self.state: State | None = {}
        """None where no way leads."""
        self.result: Type | None = None
        self.loops: list[tuple[list[State], list[State]]] = []
        """For each loop around: the states at its `break`s and at its `continue`s."""

    def run(self, name: str, arguments: Sequence[Term], keywords: Mapping[str, Term]) -> Type:
        """Writes the function under a name; the type of its result."""
        source = read(self.function)
        if isinstance(source, Refusal):
            raise Refused(source)
        self.program.active.append(self.function)
        node = source.node
        self.state = dict(self._bind(node, arguments, keywords))
        result = self._returned(node)
        self.program.active.pop()
        self.program.functions.append(self.out.finish(name, self.texts((*arguments, *keywords.values())), result))
        return result

    def texts(self, terms: Iterable[Term]) -> list[str]:
        """What is passed to a generated function."""
        return _texts(terms)

    def _returned(self, node: FunctionNode) -> Type:
        """Writes the body; the type that every way through it returns."""
        if isinstance(node, ast.Lambda):
            self._return(node.body)
        else:
            self._statements(node.body)
            if self.state is not None:
                refuse(node, "the function returns None on some way", "return a number on every way")
        return self.result or refuse(node, "the function never returns a value", STAGE)

    def _bind(self, node: FunctionNode, arguments: Sequence[Term], keywords: Mapping[str, Term]) -> dict[str, Term]:
        spec, function = node.args, self.function
        if spec.vararg or spec.kwarg:
            refuse(node, "a function with *args or **kwargs has no kernel form", "name the parameters")
        places = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        defaults = function.__defaults__ or ()
        given = dict(zip(places[len(places) - len(defaults) :], defaults, strict=True))
        given |= function.__kwdefaults__ or {}
        bound = dict(zip(places, arguments, strict=False)) | dict(keywords)
        everything = [*places, *(argument.arg for argument in spec.kwonlyargs)]
        if len(bound) < len(arguments) + len(keywords) or set(bound) - set(everything):
            refuse(node, f"{function.__name__} gets arguments it does not take")
        for name in everything:
            if name not in bound:
                found = literal(given[name]) if name in given else None
                if not isinstance(found, Term):
                    refuse(node, f"the parameter {name} has no number", STAGE)
                bound[name] = found
        # in variables of their own: a parameter may be assigned to
        return {name: self.out.store(name, term) for name, term in bound.items()}

    # -- statements -------------------------------------------------------------------------------------------------

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.state is None:
                return  # code that is never reached
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        self.program.step(statement)
        match statement:
            case ast.Pass() | ast.Expr(ast.Constant()) | ast.AnnAssign(value=None):
                pass
            case ast.Assign(targets, value):
                self._assign_all(targets, self.term(value))
            case ast.AnnAssign(target, _, ast.expr() as value):
                self._assign_all([target], self.term(value))
            case ast.AugAssign(ast.Name(name) as target, op, value):
                old = self.term(ast.copy_location(ast.Name(name, ast.Load()), target))
                self._assign(target, binary(self.out, statement, op, old, self.term(value)))
            case ast.If(test, body, orelse):
                self._if(self.condition(test), body, orelse)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name() as target, ast.Call(ast.Name("range") as function, arguments, []), body, []):
                if self._object(function) is not range:
                    refuse(statement, "range is not Python's own here", STAGE)
                self._for(statement, target, arguments, body)
            case ast.Break():
                self.loops[-1][0].append(self._here())
                self.out.line("break")
                self.state = None
            case ast.Continue():
                self.loops[-1][1].append(self._here())
                self.out.line("continue")
                self.state = None
            case ast.Return(ast.expr() as value):
                self._return(value)
            case ast.Raise():
                self.out.line(BAD)  # Python will raise it
                self.state = None
            case ast.Assert(test, _):
                self.out.bad_if(f"not {self.condition(test).text}")
            case _:
                refuse(statement, f"{_describe(statement)} has no kernel form", STAGE)

    def _here(self) -> State:
        assert self.state is not None
        return self.state

    def _return(self, value: ast.expr) -> None:
        term = self.term(value)
        for leaf in term.leaves():
            if not leaf.is_number:
                refuse(value, f"the result has a part of type {leaf.type}: a kernel gives numbers", STAGE)
        if self.result not in (None, term.type):
            refuse(
                value,
                f"the result is {self.result} on one way and {term.type} on another",
                "give all of them one type, such as 0.0 for 0",
            )
        self.result = term.type
        self.out.line(f"return ({', '.join(['True', *(leaf.text for leaf in term.leaves())])},)")
        self.state = None

    def _assign_all(self, targets: Sequence[ast.expr], term: Term) -> None:
        plain = len(targets) == 1 and isinstance(targets[0], ast.Name) and not isinstance(term.type, Product)
        kept = term if plain else self.out.snapshot(term)
        for target in targets:
            self._assign(target, kept)

    def _assign(self, target: ast.expr, term: Term) -> None:
        match target:
            case ast.Name(name):
                if term.type == NONE:
                    refuse(target, f"{name} is None", f"give {name} a number")
                self.state = {**self._here(), name: self.out.store(name, term)}
            case ast.Tuple(targets) | ast.List(targets):
                if not isinstance(term.type, Product) or (isinstance(term.type, Record) and not term.type.is_tuple):
                    refuse(target, f"{term.type} does not unpack into {len(targets)} names")
                if len(targets) != len(term.items) or any(isinstance(one, ast.Starred) for one in targets):
                    refuse(target, f"{term.type} does not unpack into {len(targets)} names")
                for one, item in zip(targets, term.items, strict=True):
                    self._assign(one, item)
            case _:
                refuse(target, f"assigning to {ast.unparse(target)} has no kernel form", "use a plain variable")

    def _if(self, test: Term, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        if test.constant is not None:
            self._statements(body if test.constant else orelse)
            return
        before = self._here()
        with self.out.block(f"if {test.text}:"):
            self._statements(body)
        after_body, self.state = self.state, before
        if orelse:
            with self.out.block("else:"):
                self._statements(orelse)
        self.state = _merge([state for state in (after_body, self.state) if state is not None])

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        before = self._here()
        ends: list[State] = []
        self.loops.append(([], []))
        with self.out.block("while True:"):
            held = self.condition(test)
            if held.constant is False:
                self.out.line("break")
            elif held.constant is None:
                self.out.line(f"if not {held.text}: break")
            if held.constant is not True:
                ends.append(before)
            self._statements(body)
        self._end_loop(test, before, ends)

    def _for(self, node: ast.For, target: ast.Name, arguments: list[ast.expr], body: Sequence[ast.stmt]) -> None:
        bounds = [self.out.atom(self._integer(argument)) for argument in arguments]
        if not 1 <= len(bounds) <= 3:
            refuse(node, f"range with {len(bounds)} arguments always fails")
        for bound in bounds:
            if bound.constant is None:  # so that counting to the end cannot overflow
                self.out.bad_if(f"{bound.text} > {_FAR} or {bound.text} < -{_FAR}")
            elif abs(bound.constant) > _FAR:
                refuse(node, f"{bound.constant} is too far for a kernel", STAGE)
        if len(bounds) == 3:
            if bounds[2].constant == 0:
                refuse(node, "range with step 0 always fails")
            if bounds[2].constant is None:
                self.out.bad_if(f"{bounds[2].text} == 0")
        before = self._here()
        self.loops.append(([], []))
        counter = self.out.new()
        with self.out.block(f"for {counter} in range({', '.join(bound.text for bound in bounds)}):"):
            self._assign(target, Term(INT, counter))
            self._statements(body)
        self._end_loop(node, before, [before])

    def _end_loop(self, node: ast.AST, before: State, ends: list[State]) -> None:
        """Check that another round finds what the first found; the state after the loop."""
        breaks, continues = self.loops.pop()
        for state in (*continues, *([] if self.state is None else [self.state])):
            for name, term in before.items():
                other = state.get(name)
                if isinstance(term, Term) and (not isinstance(other, Term) or other.type != term.type):
                    what = other.type if isinstance(other, Term) else "of another type"
                    refuse(
                        node,
                        f"{name} is {term.type} before the loop and {what} after a round of it",
                        f"give {name} one type, such as 0.0 for 0",
                    )
        self.state = _merge([*ends, *breaks])

    # -- expressions ------------------------------------------------------------------------------------------------

    def term(self, node: ast.expr) -> Term:
        """The value of an expression."""
        found = self._expression(node)
        if isinstance(found, Known):
            refuse(node, f"{shown(found.object)} is not a number", STAGE)
        return found

    def condition(self, node: ast.expr) -> Term:
        """An expression of which only the truth matters."""
        match node:
            case ast.BoolOp(op, values):
                return self._connect(isinstance(op, ast.And), values)
            case ast.UnaryOp(ast.Not(), inner):
                held = self.condition(inner)
                if held.constant is not None:
                    return Term(BOOL, str(not held.constant), constant=not held.constant)
                return Term(BOOL, f"(not {held.text})")
        return truth(node, self.term(node))

    def _connect(self, is_and: bool, values: Sequence[ast.expr]) -> Term:
        """`and` and `or` of truths; the right side is looked at only if the left does not decide."""
        first = self.condition(values[0])
        if len(values) == 1:
            return first
        if first.constant is not None:
            return self._connect(is_and, values[1:]) if first.constant is is_and else first
        result = self.out.bound(BOOL, first.text)
        with self.out.block(f"if {'' if is_and else 'not '}{result.text}:"):
            self.out.line(f"{result.text} = {self._connect(is_and, values[1:]).text}")
        return result

    def _integer(self, node: ast.expr) -> Term:
        term = self.term(node)
        if term.type not in (INT, BOOL):
            refuse(node, f"{ast.unparse(node)} is {term.type} and not an int")
        return integer(term)

    def _expression(self, node: ast.expr) -> Term | Known:
        self.program.step(node)
        match node:
            case ast.Constant(value):
                return literal(value)
            case ast.Name():
                return self._variable(node)
            case ast.Tuple(elts) if elts:
                items = tuple(self.term(item) for item in elts)
                return Term(Tuple(tuple(item.type for item in items)), items=items)
            case ast.BinOp(left, op, right):
                # the sides may be variables: nothing is assigned between here and their use
                return binary(self.out, node, op, self.term(left), self.term(right))
            case ast.UnaryOp(ast.Not()):
                return self.condition(node)
            case ast.UnaryOp(op, operand):
                return unary(self.out, node, op, self.term(operand))
            case ast.BoolOp(op, values):
                return self._operands(node, isinstance(op, ast.And), values)
            case ast.Compare(left, ops, comparators):
                return self._chain(node, self.term(left), ops, comparators)
            case ast.IfExp(test, body, orelse):
                return self._conditional(node, self.condition(test), body, orelse)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(value, index):
                return self._item(node, self.term(value), self.term(index))
            case _:
                return refuse(node, f"{_describe(node)} has no kernel form", STAGE)

    def _variable(self, node: ast.Name) -> Term | Known:
        found = self._here().get(node.id)
        if isinstance(found, Unclear):
            then, otherwise = found.types
            refuse(
                node, f"{node.id} is {then} on one way to here and {otherwise} on another", f"give {node.id} one type"
            )
        if found is not None:
            return found
        if node.id in self.function.__code__.co_varnames or node.id in self.function.__code__.co_cellvars:
            refuse(node, f"{node.id} is not set on every way to here", f"give {node.id} a value before")
        return literal(self._object(node))

    def _object(self, node: ast.Name) -> Any:
        if node.id.startswith("__") and not node.id.endswith("__"):
            refuse(node, f"{node.id} is private to a class and has another name there")
        return self.scope.outside(node)

    def _attribute(self, node: ast.Attribute) -> Term | Known:
        owner = self._expression(node.value)
        if isinstance(owner, Known):
            if isinstance(owner.object, types.ModuleType | type) and hasattr(owner.object, node.attr):
                return literal(getattr(owner.object, node.attr))
            refuse(node, f"{ast.unparse(node)} is read from an object", "put it in a variable before")
        type_ = owner.type
        if isinstance(type_, Record) and node.attr in type_.names and records.is_plain_field(type_.cls, node.attr):
            return owner.items[type_.names.index(node.attr)]
        return refuse(node, f"the attribute {node.attr} of {type_} has no kernel form", STAGE)

    def _item(self, node: ast.AST, owner: Term, index: Term) -> Term:
        is_tuple = isinstance(owner.type, Tuple) or (isinstance(owner.type, Record) and owner.type.is_tuple)
        if isinstance(owner.type, Record) and getattr(owner.type.cls, "__getitem__", None) is not tuple.__getitem__:
            is_tuple = False
        place = index.constant
        if not is_tuple or type(place) is not int or not -len(owner.items) <= place < len(owner.items):
            refuse(node, f"{ast.unparse(node)} has no kernel form", "index a tuple with a number that is written out")
        return owner.items[place]

    def _chain(self, node: ast.AST, left: Term, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr]) -> Term:
        """`a < b < c`: b is evaluated once, c only if the first comparison holds."""
        right = self.term(nodes[0])
        if len(ops) == 1:
            return compare(self.out, node, ops[0], left, right)
        right = self.out.atom(right)
        first = compare(self.out, node, ops[0], left, right)
        result = self.out.bound(BOOL, first.text)
        with self.out.block(f"if {result.text}:"):
            self.out.line(f"{result.text} = {self._chain(node, right, ops[1:], nodes[1:]).text}")
        return result

    def _operands(self, node: ast.BoolOp, is_and: bool, values: Sequence[ast.expr]) -> Term:
        """`a and b` gives one of its operands, which must have one type."""
        first = self.term(values[0])
        if len(values) == 1:
            return first
        if first.constant is not None:
            return self._operands(node, is_and, values[1:]) if bool(first.constant) is is_and else first
        if not first.is_number:
            refuse(node, f"{ast.unparse(node)} has no kernel form", STAGE)
        result = self.out.bound(first.type, first.text)
        held = truth(node, result)
        with self.out.block(f"if {'' if is_and else 'not '}{held.text}:"):
            second = self._operands(node, is_and, values[1:])
            if second.type != first.type:
                refuse(node, f"{ast.unparse(node)} is {first.type} or {second.type}", "give both sides one type")
            self.out.line(f"{result.text} = {second.text}")
        return result

    def _conditional(self, node: ast.AST, test: Term, body: ast.expr, orelse: ast.expr) -> Term:
        if test.constant is not None:
            return self.term(body if test.constant else orelse)
        with self.out.block(f"if {test.text}:"):
            then = self.term(body)
            names = [self.out.new() for _ in leaf_types(then.type)]
            self.out.assign(names, then)
        with self.out.block("else:"):
            otherwise = self.term(orelse)
            self.out.assign(names, otherwise)
        if then.type != otherwise.type:
            refuse(
                node,
                f"the result is {then.type} in one branch and {otherwise.type} in the other",
                "give both branches one type, such as 0.0 for 0",
            )
        return rebuilt(then.type, iter(names))

    def _call(self, node: ast.Call) -> Term:
        found = self._expression(node.func)
        if isinstance(found, Term):
            refuse(node, f"{ast.unparse(node.func)} is not a function known while compiling", STAGE)
        function = found.object
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(not k.arg for k in node.keywords):
            refuse(node, "a call with * has no kernel form", "write the arguments out")
        is_record = isinstance(function, type) and is_record_class(function)
        is_users = isinstance(function, types.FunctionType) and not comes_with_python(function)
        if not (is_record or is_users or kernel_calls.understood(function)):
            refuse(node, f"{shown(function)} has no kernel form", STAGE)
        arguments = [self.out.short(self.term(argument)) for argument in node.args]
        keywords = {str(keyword.arg): self.term(keyword.value) for keyword in node.keywords}
        if is_record:
            return kernel_calls.construct(node, function, arguments, keywords)
        if is_users:
            return self._helper(node, function, arguments, keywords)
        if keywords:
            refuse(node, f"{shown(function)}({min(keywords)}=…) has no kernel form", STAGE)
        return kernel_calls.call(self.out, node, function, arguments)

    def _helper(
        self, node: ast.AST, function: types.FunctionType, arguments: Sequence[Term], keywords: Mapping[str, Term]
    ) -> Term:
        """A call of another function of the user's, generated once for each combination of argument types."""
        types_ = (tuple(term.type for term in arguments), tuple((name, term.type) for name, term in keywords.items()))
        key = (function, *types_)
        if key not in self.program.helpers:
            name = f"helper{len(self.program.helpers) + len(self.program.active)}"
            inner = [term_of(term.type, f"p{place}") for place, term in enumerate(arguments)]
            named = {each: term_of(term.type, f"k{place}") for place, (each, term) in enumerate(keywords.items())}
            self.program.helpers[key] = name, type(self)(self.program, function, node).run(name, inner, named)
        name, result = self.program.helpers[key]
        given = self.texts((*arguments, *keywords.values()))
        done = self.out.new()
        names = [self.out.new() for _ in leaf_types(result)]
        self.out.line(f"{', '.join([done, *names])} = {name}({', '.join(given)})")
        self.out.bad_if(f"not {done}")
        return rebuilt(result, iter(names))


def _texts(terms: Iterable[Term]) -> list[str]:
    """What is passed to a function: the numbers among the leaves of its arguments."""
    return [leaf.text for term in terms for leaf in term.leaves() if leaf.is_number]


def _merge(states: Sequence[State]) -> State | None:
    """What is known where several ways meet."""
    if not states:
        return None
    first, *others = states
    merged: State = {}
    for name, term in first.items():
        found = [state.get(name) for state in others]
        if any(other is None for other in found):
            continue
        different = next((other for other in found if _type(other) != _type(term)), None)
        if isinstance(term, Unclear) or different is None:
            merged[name] = term
        elif isinstance(different, Unclear):
            merged[name] = different
        else:
            merged[name] = Unclear((term.type, different.type))
    return merged


def _type(found: Term | Unclear | None) -> Type | Unclear | None:
    return found.type if isinstance(found, Term) else found


def _describe(node: ast.AST) -> str:
    return {
        ast.For: "a loop over anything but range(…)",
        ast.While: "while … else",
        ast.Try: "try",
        ast.With: "with",
        ast.Return: "return without a value",
        ast.Expr: "a statement for its effect",
        ast.AugAssign: "an augmented assignment to a part",
        ast.FunctionDef: "a function inside",
        ast.NamedExpr: ":=",
        ast.Lambda: "a lambda inside",
        ast.JoinedStr: "text",
        ast.ListComp: "a list",
        ast.List: "a list",
        ast.GeneratorExp: "a generator",
    }.get(type(node), type(node).__name__)
