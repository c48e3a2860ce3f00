"""Emits the frames of a physical plan: each operator is emitted by the function of its kind."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.caches import Caches, unpersist
from morisot.engines.spark.emit.core.registry import emit_of
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import Operators
from morisot.engines.spark.emit.python import fused_kernel, fused_stage, left_out
from morisot.engines.spark.emit.python.shipping import Shipping, shipping_with
from morisot.engines.spark.emit.python.signing import sealing_with
from morisot.engines.spark.emit.python.skipped import skipped_by
from morisot.engines.spark.emit.stateful.bounded_inputs import from_files
from morisot.engines.spark.emit.stateful.row_order import with_row_order
from morisot.engines.spark.internals import plans
from morisot.engines.spark.internals.sessions import is_connect
from morisot.physical.ops import FusingOp, Given, KernelOp, Physical, ReadOp, StageOp
from morisot.physical.plan import Plan
from morisot.plan.analysis.graph import bounded_inputs, is_bounded_input
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.nodes.source import PathSource
from morisot.plan.nodes.state import Apply
from morisot.plan.nodes.window import WithoutFailures
from morisot.runtime.tally import is_diverting
from morisot.types.element import ANY, Type
from morisot.worker.report.left_out import Account, Policy
from morisot.worker.report.signature import Seal
from morisot.worker.rowwise.steps import Step

if TYPE_CHECKING:
    from morisot.engines.spark.replicas.server import ReplicaServer


@dataclass(frozen=True)
class Resources:
    """The resources that all emissions of a job share."""

    spark: SparkSession
    parallelism: int
    ledger: left_out.Ledger | None = None
    """The accumulator to which tasks report skipped elements."""
    caches: Caches | None = None
    """The streams that `cache()` retains for later jobs; None: none are retained."""
    seal: Seal = field(default_factory=Seal)
    """The key with which tasks sign their reports to the driver."""
    operators: Operators = field(default_factory=Operators)
    """The numbers of operators in guards."""
    replicas: ReplicaServer | None = None
    """The server of the replicas of users' operators; None: they have no callbacks but `on_init`, or there are none."""


@dataclass(frozen=True)
class QueryInputs:
    """Further inputs of a streaming query."""

    idle_inputs: Path | None = None
    """The directory through which idle inputs get the watermark of the others; None: they delay the others."""
    bounded_inputs: Path | None = None
    """The directory of the copies of bounded inputs of unbounded operators."""
    trigger: Trigger = field(default_factory=Trigger)
    """The trigger of the query."""
    end: int | None = None
    """The micro-batch at the end of its sources, in which operators emit what they still hold; None: it is unknown."""
    settings: Callable[[Mapping[str, int]], Mapping[str, int]] = lambda default: default
    """Returns the saved settings on which states depend; for a job from scratch the given ones."""
    is_part: bool = False
    """Whether the query is a resumable part of a bounded job."""
    newest: Callable[[], tuple[int, int]] = lambda: (-1, -1)
    """Returns the last micro-batch that an earlier attempt has started, and the last committed one."""


class Emission:
    """Emits the frames of one physical plan. Results of earlier steps of the job are bound to slots.

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
        """The id of the run, with which tasks report skipped elements."""
        self.optimistic: set[Node] = set()
        self.shipping = Shipping(resources.spark)
        """The pickles of the tasks, with large captured values that operators share."""
        self.states: dict[Node, Any] = {}
        """The operators whose states are in buckets, with the task that reads and writes them."""
        self._bounded_inputs: dict[Node, Frame] = {}
        self._persisted: dict[Node, DataFrame] = {}
        """The frames that are persisted until the emission is released."""
        self._frames: dict[Node, Frame] = dict(given or {})

    @property
    def native_sources(self) -> set[Node]:
        """The sources of files that Spark reads. If it cannot, Python does."""
        operators = self.plan.operators.items()
        return {node for node, each in operators if isinstance(each, ReadOp) and isinstance(node, PathSource)}

    @property
    def guarded(self) -> set[Node]:
        """The operators that fail only by the guard of a rung."""
        choices = self.plan.choices.items()
        return {node for node, each in choices if each.selection is not None and each.selection.may_fail}

    @property
    def seals(self) -> list[Seal]:
        """The keys with which tasks of this plan may have signed their reports."""
        caches = self.resources.caches
        return [self.resources.seal, *(caches.seals if caches is not None else ())]

    def bind(self, node: Node, frame: Frame) -> None:
        """Binds the slot of a node to the result of a step of the job."""
        assert node not in self._frames, f"{node.title} is bound already"
        self._frames[node] = frame

    def frame(self, node: Node) -> Frame:
        """The node's elements as a frame."""
        if node not in self._frames:
            with sealing_with(self.resources.seal), shipping_with(self.shipping):
                self._frames[node] = self._counted(node, self._emitted(node))
        return self._frames[node]

    def _counted(self, node: Node, frame: Frame) -> Frame:
        """The frame, with its rows counted by the query if the plan requires it."""
        if node not in self.plan.counted or not frame.df.isStreaming:
            return frame
        name = counted_as(self.nodes.index(node))
        return frame.over(frame.df.observe(name, F.expr("count(1) AS elements")))

    def _emitted(self, node: Node) -> Frame:
        with self.resources.operators.emitting(node):
            frame = self._emit(self.begin(node))
        if node not in self.plan.shared:
            return frame
        self.persist(node, frame.df)
        return frame.emitted()

    def begin(self, node: Node) -> Physical:
        """The operator that computes a node's elements, which is about to be emitted or run."""
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
        if (
            isinstance(operator, ReadOp)
            and not node.bounded
            and self.provides_row_order(node)
            and not frame.has_row_order
        ):
            frame = with_row_order(frame, by_age=node.files_by_age)
        return frame

    def _retained(self, node: Node) -> Frame:
        """A stream that an earlier job has computed and retained."""
        caches = self.resources.caches
        cached = None if caches is None else caches.get(node, self.plan.demoted)
        assert cached is not None, f"nothing is bound to {node.title}"
        self.optimistic |= cached.optimistic
        return cached.frame

    def retain(self, node: Node, frame: Frame) -> None:
        """Retains a stream for later jobs, if the plan does so."""
        if self.plan.retains and self.resources.caches is not None:
            self.resources.caches.add(node, frame, self.optimistic | self.native_sources, self.resources.seal)

    def _source_of(self, first: Node) -> Frame:
        """The input of the first step of a stage."""
        return self.read_by(first, first.inputs[0]) if first.inputs else fused_stage.instances(self)

    def read_by(self, node: Node, value: Node) -> Frame:
        """An input of an operator. Only some operators read order columns."""
        frame = self.frame(value)
        return frame if node in self.plan.order.compared else frame.without_order_columns()

    def _read_by(self, node: Node, value: Node) -> Frame:
        """An input of a node. A bounded input of an unbounded operator was copied, and the copy is read as a stream."""
        if not is_bounded_input(value, node):
            return self.read_by(node, value)
        if value not in self._bounded_inputs:
            assert self.query.bounded_inputs is not None, "a query is emitted after its bounded inputs were copied"
            directory = self.query.bounded_inputs / str(bounded_inputs(*self.plan.roots).index(value))
            frame = from_files(self.spark, value, directory, ordered=self.needs_order(value))
            self._bounded_inputs[value] = self._counted(value, frame)
        return self._bounded_inputs[value]

    def beside_stream(self, node: Node, df: DataFrame, *, broadcast: bool) -> DataFrame:
        """A bounded frame that a streaming query reads in every micro-batch: computed once, and persisted.

        Its rows are read without its plan, because Spark refuses row numbers and sorts of a bounded plan in a query. So
        Spark does not know its size; if it is small and may be `broadcast`, a hint is set.
        """
        if is_connect(df):
            return df
        small = plans.size_in_bytes(df) <= plans.broadcast_threshold(df)
        # A new frame, because the plan of this one was made before it was persisted.
        persisted = self.persist(node, df).select("*")
        table = plans.without_plan(persisted)
        return F.broadcast(table) if small and broadcast else table

    def persist(self, node: Node, df: DataFrame) -> DataFrame:
        """Persists the elements of a node until the emission is released."""
        return self._persisted.setdefault(node, df.persist())

    def fail_replicas(self, error: BaseException) -> None:
        """Tells the replicas of users' operators that the job has failed."""
        if self.resources.replicas is not None:
            self.resources.replicas.fail(str(error))

    def release(self) -> None:
        """Unpersists the persisted frames, and ends the replicas of users' operators."""
        if self.resources.replicas is not None:
            self.resources.replicas.end()
        for df in reversed(self._persisted.values()):  # first those that read others
            unpersist(df)
        self._persisted.clear()

    def is_ordered(self, node: Node) -> bool:
        """Whether the row order of the node's elements is observed."""
        return node in self.plan.order.seen

    def needs_order(self, node: Node) -> bool:
        """Whether the result of an operator depends on the row order of the node's elements."""
        return node in self.plan.order.needed

    def carries_order(self, node: Node) -> bool:
        """Whether the row order of the node's elements is provided as hidden columns."""
        return node in self.plan.order.carried

    def provides_row_order(self, node: Node) -> bool:
        """Whether a source or an operator on unbounded input provides a row order. Output files have none."""
        return node in self.plan.order.needed or node in self.plan.order.shown

    # -- forms ------------------------------------------------------------------------------------------------------

    def column_form(self, node: Node, closure: Closure) -> ColumnForm | None:
        """The column form of the closure, unless it runs in Python."""
        return self.plan.choices[node].columns.get(closure)

    # -- skipped elements -------------------------------------------------------------------------------------------

    def policy(self, node: Node) -> Policy | None:
        """The treatment of elements on which the operator fails; None: the job stops."""
        if not node.leaves_out:
            only = skipped_by(node) if isinstance(node, Rowwise | Apply) else None
            if only is None:
                return None
            return Policy(node.operator, node.location, self.nodes.index(node), False, failing_type(node), only)
        return Policy(node.operator, node.location, self.nodes.index(node), is_diverting(node), failing_type(node))

    def account(self, policies: Sequence[Policy], steps: Sequence[Step] = ()) -> Account | None:
        """Where tasks with these policies and steps report; None if they have nothing to report."""
        if not policies and not any(step.policy or step.counted is not None for step in steps):
            return None
        ledger = self.resources.ledger
        assert ledger is not None, "a plan whose tasks count elements needs an accumulator"
        return Account(self.run, ledger.accumulator, left_out.current_task())

    # -- steps of stages --------------------------------------------------------------------------------------------

    def steps(self, nodes: Iterable[Node]) -> tuple[Step, ...]:
        """The steps of operators in Python, to be pickled."""
        return tuple(fused_stage.step(node, self) for node in nodes)

    def counted_in_pass(self, node: Node) -> int | None:
        """The number of an operator whose elements are counted, and exist inside a pass only."""
        return self.nodes.index(node) if node in self.plan.counted and node not in self.plan.operators else None

    def before(self, node: Node) -> tuple[Frame, tuple[Step, ...]]:
        """The input of an operator, and the steps that are fused into its pass."""
        taken = self.plan.steps_before(node)
        return (self._source_of(taken[0]), self.steps(taken)) if taken else (self.read_by(node, node.inputs[0]), ())

    def before_last_stage(self, root: Node) -> tuple[Frame, tuple[Step, ...]]:
        """The input of the last stage before a root, and its steps, which are fused into another pass."""
        operator = self.plan.operators[root]
        if isinstance(operator, StageOp):
            return self._source_of(operator.logical[0]), self.steps(operator.logical)
        return self.frame(root), ()


def failing_type(node: Node) -> Type:
    """The type of the elements on which an operator may fail: that of its input."""
    if isinstance(node, WithoutFailures):  # it reads the results of windows
        return node.element
    if isinstance(node, Apply):  # its elements are numbered, and its failures are not
        return ANY
    return node.inputs[0].type if node.inputs else ANY


def counted_as(number: int) -> str:
    """The name of the metric with the elements that an operator emits, by its number in the plan."""
    return f"given-{number}"


def batch_rows(node: Node) -> int | None:
    """The batch size that the last batch_mode upstream of a node sets."""
    while node.inputs:
        if isinstance(node, Batched):
            return node.mode.size
        node = node.inputs[0]
    return None
