"""Functions over numbers as kernels: from the syntax tree to the text of a function for numba, with checked steps.

The user's function itself is never given to numba, which wraps on overflow and has types of its own. Each generated
function returns whether it processed the row, and its result. A row that it could not process runs again in Python.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator, Sequence
from typing import Any

from morisot.compile.kernel import calls
from morisot.compile.kernel.body import FunctionWriter
from morisot.compile.kernel.branchless import early_checks
from morisot.compile.kernel.terms import LIST_PARTS, Program, Term, Writer, is_list, term_of, texts
from morisot.compile.syntax.scope import Refused, refuse
from morisot.compile.syntax.translate import STAGE, shown
from morisot.compile.verdict import Refusal
from morisot.types.element import ANY, Keyed, Optional, Record, Tuple, Type, leaves
from morisot.worker.rowwise.kernels import Kernel, LeafPath

_ENTRY = "kernel"


def compile_kernel(function: Any, parameters: Sequence[Type], declared: Type | None) -> tuple[Type, Kernel] | Refusal:
    """The function as a kernel with the type of its result, or the reason why it has none."""
    program = Program()
    plain = [Tuple((type_.key, type_.value)) if isinstance(type_, Keyed) else type_ for type_ in parameters]
    arguments = [term_of(type_, f"p{index}") for index, type_ in enumerate(plain)]
    try:
        if isinstance(function, types.FunctionType):
            result = FunctionWriter(program, function, ast.Pass()).run(_ENTRY, arguments, {})
        elif calls.understood(function):
            result = _builtin(program, function, arguments)
        else:
            refuse(None, f"{shown(function)} has no kernel form", STAGE)
        passed = tuple(_passed(result, plain))
        type_ = _as_declared(result.type, declared)
        inputs = _used_inputs(program, plain)
        _check_rows_in_python(program, inputs, declared)
    except Refused as refused:
        return refused.refusal
    except RecursionError:
        return Refusal("the function is nested too deeply", advice="split it into several operators")
    source = early_checks("\n".join(program.functions))
    return type_, Kernel(source, tuple((index, path) for index, path, _ in inputs), type_, passed)


def _builtin(program: Program, function: Any, arguments: Sequence[Term]) -> Term:
    """A kernel of one call: `map(math.sin)`."""
    out = Writer(program)
    result = calls.call(out, ast.Pass(), function, arguments)
    out.line(f"return ({', '.join(['True', *(leaf.text for leaf in result.leaves())])},)")
    program.functions.append(out.finish(_ENTRY, texts(arguments), result))
    return result


def _passed(result: Term, parameters: Sequence[Type]) -> Iterator[tuple[int, LeafPath]]:
    """The leaves of the result that are not numbers. Each has to be a leaf of a parameter, passed on unchanged."""
    parameter_leaves = {
        "_".join([f"p{number}", *map(str, leaf.path)]): (number, leaf.path)
        for number, type_ in enumerate(parameters)
        for leaf in leaves(type_)
    }
    for number, leaf in enumerate(result.leaves()):
        if leaf.is_number:
            continue
        if leaf.text not in parameter_leaves:
            refuse(None, f"the result has a part of type {leaf.type}: a kernel returns numbers", STAGE)
        yield number, parameter_leaves[leaf.text]


def _as_declared(result: Type, declared: Type | None) -> Type:
    """The declared type, if it has the columns of the result."""
    if declared in (None, ANY, result):
        return result
    assert declared is not None
    found, wanted = leaves(result), leaves(declared)
    same = len(found) == len(wanted) and all(
        a.path == b.path and b.type in (a.type, Optional(a.type)) for a, b in zip(found, wanted, strict=True)
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
    """The leaves of the parameters that the kernel reads. The other leaves are removed from its parameters."""
    head, _, body = program.functions[-1].partition("\n")
    for copy in re.findall(r"^    \w+ = p\d+(?:_\d+)*\n", body, re.MULTILINE):
        if len(re.findall(rf"\b{copy.split()[0]}\b", body)) == 1:
            body = body.replace(copy, "", 1)
    found = []
    names = []
    for index, type_ in enumerate(parameters):
        for leaf in leaves(type_):
            name = "_".join([f"p{index}", *map(str, leaf.path)])
            parts = [f"{name}_{part}" for part in LIST_PARTS] if is_list(Term(leaf.type, name)) else [name]
            if re.search(rf"\b({'|'.join(parts)})\b", body):
                found.append((index, leaf.path, leaf.type))
                names += parts
    assert head.startswith(f"def {_ENTRY}(")
    program.functions[-1] = f"def {_ENTRY}({', '.join(names)}):\n{body}"
    return found


def _check_rows_in_python(
    program: Program, inputs: Sequence[tuple[int, tuple[int, ...], Type]], declared: Type | None
) -> None:
    """Refuses a kernel of which a row in Python may give another type, unless the user declares the type."""
    reason = program.may_differ
    if any(isinstance(type_, Optional) for _, _, type_ in inputs):
        reason = "its result for None is not known"
    if reason and declared in (None, ANY):
        refuse(None, f"the type of the result is not certain: {reason}", "pass returns=, or annotate the return type")
