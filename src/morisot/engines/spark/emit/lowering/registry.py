"""Which operator runs how: rules by node type and mode. What has no rule for a mode cannot run in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise

if TYPE_CHECKING:
    from morisot.engines.spark.emit.frames.frame import Frame

Mode = Literal["bounded", "unbounded"]
Rule = Callable[..., "Frame"]
"""(node, lowering, *frames of the inputs) -> frame"""

_RULES: dict[tuple[type[Node], Mode], Rule] = {}
_PYTHON_RULES: dict[type[Node], Rule] = {}
_WHOLE_RULES: dict[type[Node], Rule] = {}
R = TypeVar("R", bound=Callable[..., Any])


def lowers(node_type: type[Node], *modes: Mode) -> Callable[[R], R]:
    """Register how a node becomes a frame; with no mode named, on bounded and unbounded input alike."""

    def register(rule: R) -> R:
        for mode in modes or ("bounded", "unbounded"):
            assert (node_type, mode) not in _RULES, f"{node_type.__name__} has a rule for {mode} input already"
            _RULES[node_type, mode] = rule
        return rule

    return register


def folds(*node_types: type[Node]) -> Callable[[R], R]:
    """Register how nodes run in Python on bounded input: (node, lowering, frame, steps still to do) -> frame."""

    def register(rule: R) -> R:
        for node_type in node_types:
            _PYTHON_RULES[node_type] = rule
        return rule

    return register


def lowers_whole(*node_types: type[Node]) -> Callable[[R], R]:
    """Register how nodes that fetch the frames of their inputs themselves run on bounded input: (node, lowering)."""

    def register(rule: R) -> R:
        for node_type in node_types:
            _WHOLE_RULES[node_type] = rule
        return rule

    return register


def whole_rule_for(node: Node) -> Rule | None:
    """The rule that runs a node together with what leads to it, if there is one."""
    return _WHOLE_RULES.get(type(node)) if node.bounded else None


def python_rule_for(node: Node) -> Rule | None:
    """The rule that runs a node in Python, if there is one."""
    return _PYTHON_RULES.get(type(node)) if node.bounded else None


def rule_for(node: Node) -> Rule | None:
    """The rule for a node in its mode, if there is one."""
    return _RULES.get((type(node), mode_of(node)))


def mode_of(node: Node) -> Mode:
    return "bounded" if node.bounded else "unbounded"


def supported(node_type: type[Node]) -> dict[Mode, bool]:
    """The modes a kind of node can run in, for the tables of the documentation."""
    modes: tuple[Mode, ...] = ("bounded", "unbounded")
    return {
        mode: issubclass(node_type, Rowwise)
        or (node_type, mode) in _RULES
        or (mode == "bounded" and (node_type in _PYTHON_RULES or node_type in _WHOLE_RULES))
        for mode in modes
    }
