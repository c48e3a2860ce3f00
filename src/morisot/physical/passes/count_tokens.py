"""Counts of tokens of texts: row-wise functions are called once for each distinct token, and not for each text.

The pass in Python reads texts from files, so that its cost is that of moving the texts, splitting them and counting
equal tokens in Arrow. Expressions of Spark are evaluated for each token of each text.
"""

from __future__ import annotations

from collections.abc import Iterator

from morisot.compile.choose import verdict_of
from morisot.compile.tokens.analysis import Tokens, tokens_of
from morisot.compile.verdict import ColumnForm, KernelForm
from morisot.physical.ops import Choice, ColumnsOp, CountTokensOp, Reason, StageOp
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.aggregate import Count
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.keyed import KeyBy
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Filter, FilterMap, FlatMap, Flatten, Map
from morisot.plan.nodes.source import PathSource
from morisot.types.element import BOOL, DATE, INT, STR, Keyed, Optional, Tuple, Type

ONCE = Reason("tokens", "its results are counted, so it is called once for each distinct token of the texts")
_STEPS = (Map, Filter, FilterMap, FlatMap, Flatten, KeyBy)


def count_tokens(graph: Neighbours) -> dict[Node, Choice]:
    """The choices, with counts of the tokens of texts."""
    changed = dict(graph.choices)
    for node, choice in graph.choices.items():
        if isinstance(node, Count) and node.bounded and not node.leaves_out and _has_plain_key(node.type):
            found = _steps_before(graph, node)
            if found is None:
                continue
            steps, tokens = found
            changed |= {step: Choice(StageOp, dict.fromkeys(_functions(step), ONCE)) for step in steps}
            changed[node] = Choice(CountTokensOp, choice.reasons, detail=tokens)
    return changed


def _functions(node: Node) -> Iterator[Closure]:
    return (closure for _, closure in node.closures)


def _has_plain_key(type_: Type) -> bool:
    """Whether Python and Spark agree which keys are equal."""
    return not isinstance(type_, Keyed) or _is_plain(type_.key)


def _is_plain(type_: Type) -> bool:
    match type_:
        case Optional(inner):
            return _is_plain(inner)
        case Tuple(items):
            return all(map(_is_plain, items))
    return type_ in (STR, INT, BOOL, DATE)


def _steps_before(graph: Neighbours, count: Count) -> tuple[list[Node], Tokens] | None:
    """The operators from the one that splits texts to the count, and the tokens of the texts."""
    steps: list[Node] = []
    node = count.input
    while isinstance(node, _STEPS) and _is_pure(graph, node):
        steps.append(node)
        if isinstance(node, FlatMap) and node.input.type == STR:
            tokens = tokens_of(node.function.function)
            if isinstance(tokens, Tokens):
                return (steps, tokens) if _reads_files(graph, node.input) else None
        node = node.input
    return None


def _is_pure(graph: Neighbours, node: Map | Filter | FilterMap | FlatMap | Flatten | KeyBy) -> bool:
    """Whether calling it for equal elements once gives the same results. The compiler accepts only such functions."""
    if node not in graph.choices or graph.readers[node] > 1 or node.leaves_out:
        return False
    verdicts = (verdict_of(closure, node.signature(name)) for name, closure in node.closures)
    return all(isinstance(each, ColumnForm | KernelForm) for each in verdicts)


def _reads_files(graph: Neighbours, node: Node) -> bool:
    """Whether the texts come from files, through expressions only. Texts in memory are few."""
    while node in graph.choices and graph.choices[node].kind is ColumnsOp:
        (node,) = node.inputs
    return node in graph.choices and isinstance(node, PathSource)
