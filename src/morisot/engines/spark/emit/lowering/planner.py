"""Walks a plan and asks each operator's rule for its frame."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.lowering.registry import python_rule_for, rule_for, whole_rule_for
from morisot.engines.spark.emit.python import fused_kernel, fused_stage, left_out
from morisot.engines.spark.emit.python.signing import sealing_with
from morisot.engines.spark.emit.stateful.bounded_inputs import from_files
from morisot.engines.spark.emit.stateful.row_order import with_places
from morisot.physical.ops import (
    ColumnsOp,
    InOrderOp,
    KernelOp,
    Physical,
    StageOp,
    TimestampsInPythonOp,
    TwoPhaseFoldOp,
)
from morisot.physical.plan import plan
from morisot.plan.analysis.graph import (
    consumer_counts,
    meets_endless,
    met_by_endless,
    order_needed,
    order_observed,
    walk,
)
from morisot.plan.analysis.trigger import Pace
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Cache
from morisot.plan.nodes.sink import Sink, WriteSink
from morisot.plan.nodes.source import StreamArrow, StreamIter, StreamParquet, StreamRange
from morisot.plan.nodes.window import WithoutFailures
from morisot.runtime.tally import is_diverting
from morisot.types.element import ANY, BOOL, DATE, DATETIME, FLOAT, INT, Optional, Type, leaves
from morisot.worker.report.left_out import Account, Policy
from morisot.worker.report.signature import Seal
from morisot.worker.rowwise.stage import Step

if TYPE_CHECKING:
    from morisot.engines.spark.emit.iterate import LoopRunner
    from morisot.engines.spark.emit.lowering.caches import Caches

_SCALARS = (INT, FLOAT, BOOL, DATE, DATETIME)
_NARROW = frozenset((*_SCALARS, *map(Optional, _SCALARS)))
_CHEAP = (StreamIter, StreamRange, StreamArrow, StreamParquet, Loop, DeltaIterate)
"""What is as quick to read again as what Spark keeps: of Parquet each reader takes the columns it needs, and a loop has
run when its frame is there."""


class Lowering:
    """One lowering of some roots (sinks or streams) that run together.

    `demoted` are the operators that must run in Python because their native form failed on the data;
    `optimistic` collects those that ran natively although they may fail. `given` are frames that are there already:
    those of a round, when the roots are the body of a loop. One that `keeps` holds in Spark's cache what several
    operators read, until it is released.
    """

    def __init__(
        self,
        spark: SparkSession,
        roots: Iterable[Node],
        *,
        parallelism: int,
        demoted: frozenset[Node] = frozenset(),
        loops: LoopRunner | None = None,
        given: Mapping[Node, Frame] | None = None,
        keeps: bool = True,
        ledger: left_out.Ledger | None = None,
        caches: Caches | None = None,
        told: Path | None = None,
        ended: Path | None = None,
        counts: bool = False,
        pace: Pace | None = None,
        seal: Seal | None = None,
    ) -> None:
        self.spark = spark
        self.seal = seal or Seal()
        """The key with which tasks sign what they report to the driver."""
        self._loops = loops
        self.parallelism = parallelism
        self.demoted = demoted
        self._ledger = ledger
        self.run = uuid.uuid4().hex
        """Under which name tasks report what they leave out."""
        self.optimistic: set[Node] = set()
        self.caches = caches
        """What `cache()` keeps from run to run; without it nothing is."""
        self.told = told
        """Where inputs that are silent find the time of the others; without it they hold those up."""
        self.pace = pace or Pace()
        """How fast a query without end is to go."""
        self._ended = ended
        """Where the elements of bounded streams lie that meet one without end."""
        self._met: dict[Node, Frame] = {}
        self._keeps = keeps
        self._kept: dict[Node, DataFrame] = {}
        """What is held in Spark's cache because several sinks read it."""
        self.roots = roots = tuple(roots)
        self._frames: dict[Node, Frame] = dict(given or {})
        known = frozenset(self._frames) | self._cached(roots)
        self.nodes = tuple(walk(*roots, known=known))
        self._consumers = consumer_counts(roots)
        self._counts = counts
        """Whether what each operator of a streaming query gives is counted."""
        if counts:  # who counts is one more reader, for whom elements must be there
            self._consumers.update(node for node in self.nodes if not node.bounded)
        self.plan = plan(roots, demoted=demoted, given=known, readers=self._consumers)
        self._ordered = order_observed(roots)
        self._order_needed = order_needed(roots)
        self._order_shown = order_observed(root for root in roots if root.bounded or not isinstance(root, WriteSink))

    @property
    def seals(self) -> list[Seal]:
        """The keys with which tasks of this plan may have signed what they report."""
        return [self.seal, *(self.caches.seals if self.caches is not None else ())]

    @property
    def loops(self) -> LoopRunner:
        """What runs the loops of the plan."""
        assert self._loops is not None, "a plan with loops is lowered by whoever can run them"
        return self._loops

    def _cached(self, roots: tuple[Node, ...]) -> frozenset[Node]:
        """What an earlier run has computed and kept: nothing before it runs again."""
        if self.caches is None:
            return frozenset()
        cached = (node for node in walk(*roots) if isinstance(node, Cache))
        return frozenset(node for node in cached if self.caches.get(node, self.demoted) is not None)

    def frame(self, node: Node) -> Frame:
        """The node's elements as a frame."""
        if node not in self._frames:
            with sealing_with(self.seal):
                self._frames[node] = self._counted(node, self._lower(node))
        return self._frames[node]

    def _counted(self, node: Node, frame: Frame) -> Frame:
        """The frame, whose rows the query counts if that is wanted; sinks are given what they read."""
        if not self._counts or isinstance(node, Sink) or not frame.df.isStreaming:
            return frame
        name = counted_as(self.nodes.index(node))
        return frame.over(frame.df.observe(name, F.expr("count(1) AS elements")))

    def _lower(self, node: Node) -> Frame:
        operator = self.plan.operators[node]
        if operator.may_fail:
            self.optimistic.add(node)
        return self._share(node, self._emit(operator))

    def _emit(self, operator: Physical) -> Frame:
        """The frame of a physical operator."""
        node = operator.node
        match operator:
            case StageOp(logical=nodes):
                source = self._source_of(nodes[0])
                return fused_stage.run(source, self.steps(nodes), node.type, self, batch_rows(node))
            case KernelOp(logical=nodes):
                return fused_kernel.run(self, operator, nodes[0].inputs[0])
            case TwoPhaseFoldOp() | TimestampsInPythonOp() | InOrderOp():
                python_rule = python_rule_for(node)
                if python_rule is not None:
                    return python_rule(node, self, *self.before(node))
        whole_rule = whole_rule_for(node)
        if whole_rule is not None:
            return whole_rule(node, self)
        rule = rule_for(node)
        assert rule is not None, f"{node.operator} passed the check of the plan without a rule"
        frame = rule(node, self, *(self._read_by(node, value) for value in node.inputs))
        if not node.inputs and not node.bounded and self.gives_places(node) and not frame.placed:
            frame = with_places(frame, by_age=node.files_by_age)
        return frame

    def _source_of(self, first: Node) -> Frame:
        """What the first step of a stage reads."""
        return self.frame(first.inputs[0]) if first.inputs else fused_stage.instances(self)

    def _read_by(self, node: Node, value: Node) -> Frame:
        """What a node reads. A bounded stream that meets one without end was copied, and is followed there."""
        if not meets_endless(value, node):
            return self.frame(value)
        if value not in self._met:
            assert self._ended is not None, "a query without end is lowered by whoever copies what it meets"
            directory = self._ended / str(met_by_endless(*self.roots).index(value))
            frame = from_files(self.spark, value, directory, placed=self.needs_order(value))
            self._met[value] = self._counted(value, frame)
        return self._met[value]

    def _share(self, node: Node, frame: Frame) -> Frame:
        """Keep what several operators read and would be dear to make again; a stream cannot be kept."""
        is_there = node.bounded or not frame.df.isStreaming  # a micro-batch of a stream is
        if self._keeps and is_there and self._consumers[node] > 1 and self._is_dear(node):
            self.keep(node, frame.df)
            return frame.over(frame.df)  # what follows starts from what is kept, and is not composed past it
        return frame

    def _is_dear(self, node: Node) -> bool:
        """Whether making the node again would read files, shuffle or run Python again; expressions are cheap."""
        while self.plan.chose(node, ColumnsOp):
            (node,) = node.inputs
            if node in self._kept:
                return False
        is_kept = isinstance(node, Cache) and self.caches is not None
        return not is_kept and not isinstance(node, _CHEAP)

    def beside_stream(self, node: Node, df: DataFrame, *, broadcast: bool) -> DataFrame:
        """A bounded frame that a streaming query reads in every micro-batch: computed once, and kept.

        Its rows come from outside the query's plan, in which Spark refuses the row numbers and sorts of a bounded one.
        So Spark does not see how large it is; if it is small and may be `broadcast`, it will be.
        """
        if not isinstance(df, ClassicDataFrame):
            return df
        size = int(df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
        kept = self.keep(node, df)
        rows = kept._jdf.queryExecution().toRdd()
        session = self.spark._jsparkSession
        table = ClassicDataFrame(session.internalCreateDataFrame(rows, kept._jdf.schema(), False), self.spark)
        small = size <= session.sessionState().conf().autoBroadcastJoinThreshold()
        return F.broadcast(table) if small and broadcast else table

    def keep(self, node: Node, df: DataFrame) -> DataFrame:
        """Hold what a node gives in Spark's cache until it is released."""
        return self._kept.setdefault(node, df.persist())

    def release(self) -> None:
        """Give back what was kept."""
        for df in self._kept.values():
            df.unpersist()
        self._kept.clear()

    @property
    def output_mode(self) -> Literal["append", "update"]:
        """How a streaming query gives results: each once, or, of an aggregate, whenever one changed."""
        return "update" if any(map(gives_running_values, self.nodes)) else "append"

    def is_ordered(self, node: Node) -> bool:
        """Whether somebody sees the order of the node's elements."""
        return node in self._ordered

    def needs_order(self, node: Node) -> bool:
        """Whether the result of some operator depends on the order of the node's elements."""
        return node in self._order_needed

    @property
    def rows_are_narrow(self) -> bool:
        """Whether every row of every operator has a few bytes: numbers, and no texts or lists."""
        return all(leaf.type in _NARROW for node in self.nodes for leaf in leaves(node.type))

    def gives_places(self, node: Node) -> bool:
        """Whether a source or an operator on unbounded input tells where its elements stand; files have no order."""
        return node in self._order_needed or node in self._order_shown

    # -- forms ------------------------------------------------------------------------------------------------------

    def column_form(self, node: Node, closure: Closure) -> ColumnForm | None:
        """The closure as columns, unless it runs in Python."""
        return self.plan.choices[node].columns.get(closure)

    # -- elements that are left out ---------------------------------------------------------------------------------

    def policy(self, node: Node) -> Policy | None:
        """What the operator does with elements on which it fails; None: the job stops."""
        if not node.leaves_out:
            return None
        return Policy(node.operator, node.location, self.nodes.index(node), is_diverting(node), failing_type(node))

    def account(self, policies: Sequence[Policy]) -> Account | None:
        """Where tasks with these policies report; None if there are none."""
        if not policies:
            return None
        assert self._ledger is not None, "a plan that leaves elements out needs somebody who counts them"
        return Account(self.run, self._ledger.accumulator, left_out.place())

    # -- steps of stages --------------------------------------------------------------------------------------------

    def steps(self, nodes: Iterable[Node]) -> tuple[Step, ...]:
        """What operators do to an element in Python, ready to travel."""
        return tuple(fused_stage.step(node, self) for node in nodes)

    def before(self, node: Node) -> tuple[Frame, tuple[Step, ...]]:
        """What an operator reads, and the steps that it takes into its own pass."""
        taken = self.plan.steps_before(node)
        return (self._source_of(taken[0]), self.steps(taken)) if taken else (self.frame(node.inputs[0]), ())

    def before_last_stage(self, root: Node) -> tuple[Frame, tuple[Step, ...]]:
        """What the last stage before a root reads, and its steps, for whoever takes them into a pass of its own."""
        operator = self.plan.operators[root]
        if isinstance(operator, StageOp):
            return self._source_of(operator.logical[0]), self.steps(operator.logical)
        return self.frame(root), ()


def failing_type(node: Node) -> Type:
    """The type of the elements on which an operator may fail: what it reads."""
    if isinstance(node, WithoutFailures):  # it reads what windows gave
        return node.element
    return node.inputs[0].type if node.inputs else ANY


def counted_as(number: int) -> str:
    """The name under which a query counts what the operator with a number in the plan gives."""
    return f"given-{number}"


def batch_rows(node: Node) -> int | None:
    """How many elements the last batch_mode before a node lets its function take at a time."""
    while node.inputs:
        if isinstance(node, Batched):
            return node.mode.size
        node = node.inputs[0]
    return None
