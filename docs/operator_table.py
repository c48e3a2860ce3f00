"""The table of operators, made from the nodes of the logical plan: `python docs/operator_table.py [--write]`.

Without `--write` it prints the table. With it, it writes the table between the markers of docs/operators/README.md.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from morisot.engines.reference import engine
from morisot.engines.reference.registry import has_meaning
from morisot.plan.nodes import (
    aggregate,
    combine,
    iterate,
    join,
    keyed,
    partition,
    rowwise,
    sink,
    source,
    state,
    time,
    window,
)
from morisot.plan.nodes.node import Node, snake_case

assert engine.FAMILIES, "importing the families registers their meanings"

PAGE = Path(__file__).resolve().parent / "operators" / "README.md"
BEGIN, END = "<!-- operators:begin -->", "<!-- operators:end -->"
FAMILIES = (source, rowwise, keyed, aggregate, state, time, window, combine, join, partition, iterate, sink)
ROOTS = frozenset(
    {source.PathSource, rowwise.Rowwise, aggregate.Aggregation, state.Rich, state.Apply, sink.SinkNode, sink.WriteSink}
) | {
    source.BufferedSource,
    combine.Branching,
    combine.Branch,  # what split_by and route give
    iterate.Loop,
    iterate.LoopInput,
}

METHODS: dict[type[Node], tuple[str, ...]] = {
    source.StreamParIter: ("stream_par_iter", "stream"),
    source.StreamOffsets: ("stream(OffsetSource)",),
    source.StreamRange: (),  # what stream_iter and stream_par_iter make of a range
    rowwise.MapMemo: ("map_memo", "map_memo_by"),
    keyed.KeyBy: ("group_by", "key_by"),
    keyed.Unkey: ("unkey", "drop_key", "keys"),
    aggregate.Count: ("count", "group_by_count"),
    aggregate.Sum: ("group_by_sum",),
    aggregate.Avg: ("group_by_avg",),
    aggregate.MinElement: ("group_by_min_element",),
    aggregate.MaxElement: ("group_by_max_element",),
    aggregate.ReduceAssoc: ("reduce_assoc", "group_by_reduce"),
    aggregate.FoldAssoc: ("fold_assoc", "group_by_fold"),
    aggregate.First: ("unique_by",),
    aggregate.UniqueWithin: (),  # what unique and unique_by are within a time
    aggregate.WithAggregate: ("fold_scan", "reduce_scan", "max_elements", "min_elements"),
    aggregate.SortedBy: ("sorted_by", "sorted_limit_by"),
    combine.SplitBy: ("split", "split_by"),
    state.ApplyOnDemand: ("apply",),
    state.ApplyFixed: (),  # what apply is with key stores, or with a fixed replica for each element
    partition.Ordered: (),  # of sinks
    state.Numbered: (),  # the ids of messages
    state.WithoutIds: (),  # the outputs of apply
    join.Join: ("join", "left_join", "outer_join", "join_with"),
    partition.Batched: ("batch_mode",),
    partition.Cache: ("cache", "uncache"),
    iterate.State: (),  # the results of a loop
    iterate.Elements: (),
    window.Window: ("window_all", "window", "with_bounds"),
    window.WindowJoin: ("window(…).join",),
    window.WithoutFailures: (),  # what a fold of windows with on_error gives
}
"""The methods that make a node, where they are not just its name."""

AT_ONCE = f"no: {sink.AT_THE_END}"
NOW: dict[str, dict[tuple[str, str, str], list[str]]] = {
    "sink": {("yes", AT_ONCE, "yes"): ["collect", "to_arrow", "to_pandas"], ("yes", AT_ONCE, "no"): ["to_dataframe"]},
}
"""Methods that run at once and make no node, by where they run."""
HEAD = (
    "| family | operators | bounded | unbounded | without a JVM |",
    "|---|---|---|---|---|",
)


def nodes_of(family: ModuleType) -> list[type[Node]]:
    """The operators of a family, in the order they are written."""
    found = [value for value in vars(family).values() if isinstance(value, type) and issubclass(value, Node)]
    return [node for node in found if node.__module__ == family.__name__ and node not in ROOTS]


def status(node: type[Node]) -> tuple[str, str, str]:
    """Whether it runs on bounded input, on unbounded input, and on the reference engine; if not, why the plan says."""
    # What only hands elements over needs no meaning of its own: the reference engine does it for every such sink.
    hands_over = issubclass(node, sink.SinkNode) and not issubclass(node, sink.WriteSink | sink.WriteKafka)
    return (
        cell(not node.only_unbounded, node.only_unbounded),
        cell(not node.only_bounded, node.only_bounded, node.unbounded_if),
        cell(has_meaning(node) or hands_over),
    )


def cell(runs: bool, reason: str = "", condition: str = "") -> str:
    """The text of a cell: yes or no, with the reason or condition that the plan states."""
    if runs:
        return f"if {condition}" if condition else "yes"
    return f"no: {reason}" if reason else "no"


def table() -> str:
    """One row for the operators of a family that run on the same inputs and engines."""
    lines = list(HEAD)
    for family in FAMILIES:
        name = family.__name__.rpartition(".")[2]
        rows = {marks: list(methods) for marks, methods in NOW.get(name, {}).items()}
        for node in nodes_of(family):
            rows.setdefault(status(node), []).extend(METHODS.get(node, (snake_case(node.__name__),)))
        for index, (marks, methods) in enumerate(rows.items()):
            shown = f"[{name}]({name}.md)" if index == 0 else ""
            cells = " | ".join(marks)
            lines.append(f"| {shown} | {' '.join(f'`{method}`' for method in methods)} | {cells} |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """The text with the table between its markers."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
