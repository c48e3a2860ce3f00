"""Makes the frames of a physical plan: each operator is emitted by the function of its kind."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.registry import emit_of
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import Operators
from morisot.engines.spark.emit.python import fused_kernel, fused_stage, left_out
from morisot.engines.spark.emit.python.signing import sealing_with
from morisot.engines.spark.emit.stateful.bounded_inputs import from_files
from morisot.engines.spark.emit.stateful.row_order import with_places
from morisot.engines.spark.internals import plans
from morisot.engines.spark.internals.sessions import is_connect
from morisot.physical.ops import FusingOp, Given, KernelOp, Physical, ReadOp, StageOp
from morisot.physical.plan import Plan
from morisot.plan.analysis.graph import bounded_inputs, is_bounded_input
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched
from morisot.plan.nodes.window import WithoutFailures
from morisot.runtime.tally import is_diverting
from morisot.types.element import ANY, Type
from morisot.worker.report.left_out import Account, Policy
from morisot.worker.report.signature import Seal
from morisot.worker.rowwise.stage import Step

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.caches import Caches


@dataclass(frozen=True)
class Resources:
    """What every emission of a job uses."""

    spark: SparkSession
    parallelism: int
    ledger: left_out.Ledger | None = None
    """Where tasks report what they leave out."""
    caches: Caches | None = None
    """What `cache()` retains from job to job; without it nothing is."""
    seal: Seal = field(default_factory=Seal)
    """The key with which tasks sign what they report to the driver."""
    operators: Operators = field(default_factory=Operators)
    """The numbers by which guards name operators."""


@dataclass(frozen=True)
class QueryInputs:
    """What a streaming query reads beside its sources."""

    idle_inputs: Path | None = None
    """Where idle inputs find the watermark of the others; without it they hold those up."""
    bounded_inputs: Path | None = None
    """The copies of the bounded inputs of unbounded operators."""
    trigger: Trigger = field(default_factory=Trigger)
    """What starts the micro-batches."""


class Emission:
    """Makes the frames of one physical plan. What earlier steps of the job have made is bound to slots.

    `optimistic` collects the operators that were emitted natively although they may fail.
    """

    def __init__(
        self,
        resources: Resources,
        plan: Plan,
        *,
        given: Mapping[Node, Frame] | None = None,
        query: QueryInputs | None = None,
    ) -> None:
        self.resources = resources
        self.spark = resources.spark
        self.parallelism = resources.parallelism
        self.plan = plan
        self.nodes = plan.nodes
        self.query = query or QueryInputs()
        self.run = uuid.uuid4().hex
        """Under which name tasks report what they leave out."""
        self.optimistic: set[Node] = set()
        self._bounded_inputs: dict[Node, Frame] = {}
        self._kept: dict[Node, DataFrame] = {}
        """What is persisted until the emission is released."""
        self._frames: dict[Node, Frame] = dict(given or {})

    @property
    def seals(self) -> list[Seal]:
        """The keys with which tasks of this plan may have signed what they report."""
        caches = self.resources.caches
        return [self.resources.seal, *(caches.seals if caches is not None else ())]

    def bind(self, node: Node, frame: Frame) -> None:
        """Bind the slot of a node to what a step of the job has made of it."""
        assert node not in self._frames, f"{node.title} is bound already"
        self._frames[node] = frame

    def frame(self, node: Node) -> Frame:
        """The node's elements as a frame."""
        if node not in self._frames:
            with sealing_with(self.resources.seal):
                self._frames[node] = self._counted(node, self._emitted(node))
        return self._frames[node]

    def _counted(self, node: Node, frame: Frame) -> Frame:
        """The frame, whose rows the query counts if the plan says so."""
        if node not in self.plan.counted or not frame.df.isStreaming:
            return frame
        name = counted_as(self.nodes.index(node))
        return frame.over(frame.df.observe(name, F.expr("count(1) AS elements")))

    def _emitted(self, node: Node) -> Frame:
        with self.resources.operators.emitting(node):
            frame = self._emit(self.begin(node))
        if node not in self.plan.shared:
            return frame
        self.keep(node, frame.df)
        return frame.over(frame.df)  # what follows starts from what is persisted, and is not composed past it

    def begin(self, node: Node) -> Physical:
        """The operator that gives a node's elements, which is about to be emitted or run."""
        operator = self.plan.operators[node]
        if operator.may_fail:
            self.optimistic.add(node)
        return operator

    def _emit(self, operator: Physical) -> Frame:
        """The frame of a physical operator."""
        node = operator.node
        match operator:
            case Given():
                return self._retained(node)
            case StageOp(logical=nodes):
                source = self._source_of(nodes[0])
                return fused_stage.run(source, self.steps(nodes), node.type, self, batch_rows(node))
            case KernelOp(logical=nodes):
                return fused_kernel.run(self, operator, nodes[0].inputs[0])
        emit = emit_of(type(operator), type(node))
        assert emit is not None, f"{node.operator} cannot be emitted as {type(operator).__name__}"
        if isinstance(operator, FusingOp):
            return emit(node, self, *self.before(node))
        frame = emit(node, self, *(self._read_by(node, value) for value in node.inputs))
        if isinstance(operator, ReadOp) and not node.bounded and self.gives_places(node) and not frame.placed:
            frame = with_places(frame, by_age=node.files_by_age)
        return frame

    def _retained(self, node: Node) -> Frame:
        """A stream that an earlier job has computed, and retained."""
        caches = self.resources.caches
        kept = None if caches is None else caches.get(node, self.plan.demoted)
        assert kept is not None, f"nothing is bound to {node.title}"
        self.optimistic |= kept.optimistic
        return kept.frame

    def retain(self, node: Node, frame: Frame) -> None:
        """Retain a stream for later jobs, if the plan does that."""
        if self.plan.retains and self.resources.caches is not None:
            self.resources.caches.keep(node, frame, self.optimistic, self.resources.seal)

    def _source_of(self, first: Node) -> Frame:
        """What the first step of a stage reads."""
        return self.frame(first.inputs[0]) if first.inputs else fused_stage.instances(self)

    def _read_by(self, node: Node, value: Node) -> Frame:
        """What a node reads. A bounded input of an unbounded operator was copied, and the copy is followed."""
        if not is_bounded_input(value, node):
            return self.frame(value)
        if value not in self._bounded_inputs:
            assert self.query.bounded_inputs is not None, "a query is emitted by whoever copies its bounded inputs"
            directory = self.query.bounded_inputs / str(bounded_inputs(*self.plan.roots).index(value))
            frame = from_files(self.spark, value, directory, placed=self.needs_order(value))
            self._bounded_inputs[value] = self._counted(value, frame)
        return self._bounded_inputs[value]

    def beside_stream(self, node: Node, df: DataFrame, *, broadcast: bool) -> DataFrame:
        """A bounded frame that a streaming query reads in every micro-batch: computed once, and kept.

        Its rows come from outside the query's plan, in which Spark refuses the row numbers and sorts of a bounded one.
        So Spark does not see how large it is; if it is small and may be `broadcast`, it will be.
        """
        if is_connect(df):
            return df
        small = plans.size_in_bytes(df) <= plans.broadcast_threshold(df)
        persisted = self.keep(node, df).select("*")  # Spark has planned the frame itself before it was persisted
        table = plans.without_plan(persisted)
        return F.broadcast(table) if small and broadcast else table

    def keep(self, node: Node, df: DataFrame) -> DataFrame:
        """Hold what a node gives in Spark's cache until it is released."""
        return self._kept.setdefault(node, df.persist())

    def release(self) -> None:
        """Unpersist the frames that are persisted."""
        for df in self._kept.values():
            df.unpersist()
        self._kept.clear()

    def is_ordered(self, node: Node) -> bool:
        """Whether somebody sees the order of the node's elements."""
        return node in self.plan.order.seen

    def needs_order(self, node: Node) -> bool:
        """Whether the result of some operator depends on the order of the node's elements."""
        return node in self.plan.order.needed

    def gives_places(self, node: Node) -> bool:
        """Whether a source or an operator on unbounded input tells where its elements stand; files have no order."""
        return node in self.plan.order.needed or node in self.plan.order.shown

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

    def account(self, policies: Sequence[Policy], steps: Sequence[Step] = ()) -> Account | None:
        """Where tasks with these policies and steps report; None if there is nothing to report."""
        if not policies and not any(step.policy or step.counted is not None for step in steps):
            return None
        ledger = self.resources.ledger
        assert ledger is not None, "a plan whose tasks count elements needs somebody who adds the counts up"
        return Account(self.run, ledger.accumulator, left_out.place())

    # -- steps of stages --------------------------------------------------------------------------------------------

    def steps(self, nodes: Iterable[Node]) -> tuple[Step, ...]:
        """What operators do to an element in Python, ready to travel."""
        return tuple(fused_stage.step(node, self) for node in nodes)

    def counted_in_pass(self, node: Node) -> int | None:
        """The number of an operator whose elements are counted, and exist inside a pass only."""
        return self.nodes.index(node) if node in self.plan.counted and node not in self.plan.operators else None

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
