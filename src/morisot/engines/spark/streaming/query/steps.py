"""The steps of the query of a part, from its first start to its end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from pyspark.errors import StreamingQueryException

from morisot.engines.spark.failures import SPARK_ERRORS, users_error
from morisot.engines.spark.session.jvm_death import caused_by_death, is_dead, refuse_stopped
from morisot.engines.spark.streaming.bounded_inputs import copy_bounded_inputs
from morisot.engines.spark.streaming.queries import holds_elements
from morisot.engines.spark.streaming.query.channel_reader import ChannelReader
from morisot.engines.spark.streaming.query.counts import BatchCounts
from morisot.engines.spark.streaming.query.lifecycle import Lifecycle
from morisot.engines.spark.streaming.query.restart_policy import RestartPolicy
from morisot.engines.spark.streaming.query.resume import plan_timers, rescale, resume_or_begin
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.query.starter import QueryAttempt, QueryStarter
from morisot.errors import MorisotError, SinkError
from morisot.plan.nodes.source import BufferedSource

POLL_SECONDS = 0.2


class QuerySteps:
    """The steps of one query group."""

    restartable = (StreamingQueryException, *SPARK_ERRORS, SinkError)

    def __init__(
        self,
        spec: QuerySpec,
        lifecycle: Lifecycle[QueryAttempt],
        starter: QueryStarter,
        channels: ChannelReader,
        counts: BatchCounts,
    ) -> None:
        self._spec = spec
        self._spark = spec.runner.spark
        self._lifecycle = lifecycle
        self._starter = starter
        self._channels = channels
        self._counts = counts
        self._policy = RestartPolicy(spec)
        self._end_noticed = False
        """Whether the end of the sources was committed at an earlier poll."""

    # -- the start ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        spec = self._spec
        self._channels.limit(spec.trigger.elements)
        for writer in spec.writers:
            writer.attach(spec.checkpoint, spec.restart)
        resumes = resume_or_begin(spec, self._starter.emission)
        if resumes:
            self._starter.finishes = not rescale(spec, self._starter.emission)
            plan_timers(spec, self._starter.emission)
        for writer in spec.writers:
            writer.open(resumes=resumes)
        copy_bounded_inputs(self._starter.query, spec.runner, spec.checkpoint.bounded_inputs)
        self._channels.attach()
        end = spec.checkpoint.planned_end
        if end is not None:  # the program ended before the last micro-batch was committed
            self._channels.add_end()
            self._starter.plan_end(end)

    def start(self) -> None:
        self._starter.start()

    # -- while it runs ------------------------------------------------------------------------------------------------

    def poll(self, query: QueryAttempt) -> bool:
        if query.query.awaitTermination(POLL_SECONDS):  # type: ignore[arg-type]
            if not self._lifecycle.stop_requested:
                refuse_stopped(self._spark)
                if self._starter.finishes:
                    self._rescale(query)
                    return False
            return True
        self._counts.count(query)
        self._tell_of_snapshots(query)
        for writer in self._spec.writers:
            writer.settle()
        if query.idle_inputs.may_advance:
            query.idle_inputs.advance(**query.query.status)
        failure = self._counts.failure or self._channels.failure
        if failure is not None:
            raise failure
        if self._is_drained(query):
            return self._end(query)
        if self._end_is_committed:  # by a job that resumed: there are elements after it
            self._starter.end = None
        return False

    def _rescale(self, query: QueryAttempt) -> None:
        """Changes the number of state partitions when the open micro-batch is committed, and starts the query."""
        self._counts.count(query)
        self._tell_of_snapshots(query)
        self._spec.runner.ledger.take(query.emission.run)
        if self._lifecycle.restart():
            self._starter.finishes = not rescale(self._spec, query.emission)
            plan_timers(self._spec, query.emission)
            self._starter.plan_again()
            self._starter.start()

    def _tell_of_snapshots(self, query: QueryAttempt) -> None:
        """Tells users' operators and sinks which snapshot is complete."""
        replicas = query.emission.resources.replicas
        listening = [writer.life for writer in self._spec.writers if writer.life is not None and writer.life.listens]
        if listening or (replicas is not None and replicas.is_serving):
            _, committed = self._spec.checkpoint.newest()
            if replicas is not None and committed >= 0:
                replicas.note_complete(committed)
            for life in listening:
                life.note_complete(committed)

    @property
    def _end_is_committed(self) -> bool:
        return self._starter.end is not None and self._spec.checkpoint.planned_end is None

    def _end(self, query: QueryAttempt) -> bool:
        """Ends a query whose channels have ended. Before, a micro-batch emits what operators hold.

        The query is restarted for it. A micro-batch that runs now may be interrupted, and is replayed before.
        """
        checkpoint = self._spec.checkpoint
        holds = any(map(holds_elements, query.emission.nodes)) and checkpoint.has_begun
        if holds and not self._end_is_committed and not checkpoint.has_ended:
            if self._starter.end is None:
                self._begin_end(query)
            return False
        if self._end_is_committed and not self._end_noticed:  # Spark's report follows the commit
            self._end_noticed = True
            return False
        query.stop()
        return True

    def _begin_end(self, query: QueryAttempt) -> None:
        query.stop()
        self._counts.count(query)
        self._spec.runner.ledger.take(query.emission.run)
        if self._lifecycle.restart():
            self._channels.add_end()
            self._starter.plan_end(self._spec.checkpoint.plan_end())
            self._starter.start()

    def _is_drained(self, query: QueryAttempt) -> bool:
        """Whether the query reads only channels, and these are closed and read to the end."""
        if self._starter.query.bounded_inputs and not self._counts.measures.batches:
            return False  # the first micro-batch reads bounded inputs
        sources = [node for node in query.emission.nodes if not node.inputs and not node.bounded]
        return all(isinstance(node, BufferedSource) for node in sources) and self._channels.is_drained

    def recover(self, query: QueryAttempt, error: BaseException) -> None:
        death = caused_by_death(self._spark, error)
        if death is not None:
            raise death
        failure = query.delivery.failure or error
        query.emission.fail_replicas(users_error(failure, query.emission.seals) or failure)
        self._counts.count(query)
        try:
            self._policy.check(query, failure, self._counts.measures.batches, lambda: self._lifecycle.stop_requested)
        except MorisotError as final:
            for writer in self._spec.writers:
                writer.fail(final.__cause__ or final)
            raise
        self._spec.runner.ledger.take(query.emission.run)  # the micro-batch that failed is replayed
        self._starter.plan_again()

    # -- the end ------------------------------------------------------------------------------------------------------

    def unblock(self) -> None:
        for writer in self._spec.writers:
            writer.unblock()

    def stop_query(self) -> None:
        if not is_dead(self._spark):
            self.unblock()
            self._lifecycle.stop_query()

    def closing(self, *, query_ended: bool) -> Iterable[Callable[[], None]]:
        yield self._count_last
        yield self._close_writers
        if query_ended:
            yield self._spec.checkpoint.close
        yield functools.partial(self._spec.report, self._counts.tally)

    def _count_last(self) -> None:
        if self._lifecycle.query is not None:
            self._counts.count(self._lifecycle.query)
            self._tell_of_snapshots(self._lifecycle.query)

    def _close_writers(self) -> None:
        closing = self._release()
        failure = self._counts.failure or closing
        if failure is not None:
            raise failure

    def _release(self) -> MorisotError | None:
        """Detaches from channels, closes sinks, and unpersists frames. Returns errors of closing sinks."""
        self._channels.detach()
        closing = [writer.close() for writer in self._spec.writers]
        self._spec.runner.ledger.take(self._starter.emission.run)
        if not is_dead(self._spark):
            self._starter.emission.release()
        return next(filter(None, closing), None)

    def abandon(self, *, query_ended: bool) -> None:
        self._release()
        if query_ended and self._spec.checkpoint.keep is None:  # the snapshots may belong to another program
            self._spec.checkpoint.clean()

    def user_error(self, error: BaseException) -> BaseException:
        return caused_by_death(self._spark, error) or error
