"""The tests of operators on unbounded input that run on Spark in `make test`, and what each of them runs there.

Every kind of physical operator and every machine has one. The others run on the driver; on Spark only `make thorough`
runs them. `test_spark_runs.py` fails where a kind or a machine has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

_OF_OPERATORS: dict[str, tuple[str, ...]] = {
    # operators without a state
    "test_rowwise.py::test_map_column[unbounded]": ("ReadOp", "ColumnsOp", "WriteOp"),
    "test_rowwise.py::test_overflow_on_the_way_is_repaired_by_python[unbounded]": ("a query that is planned again",),
    "test_kernel.py::test_a_chain_is_one_pass_and_right[unbounded]": ("KernelOp",),
    "test_partition.py::test_repartition_by[unbounded]": ("ExchangeOp",),
    "test_partition.py::test_the_order_is_restored[unbounded]": ("OrderedOp",),
    "test_time.py::test_timestamps_may_be_dropped_again[unbounded]": ("TimestampsOp", "WatermarkOp"),
    "test_bounded_inputs.py::test_the_answer_is_that_of_bounded_input[merge-unbounded]": (
        "UnionOp",
        "bounded inputs",
    ),
    "test_join.py::test_join_with_a_table[unbounded-join]": ("TableJoinOp",),
    "test_on_error.py::test_skipped_elements_are_counted[unbounded-map as a column]": ("StageOp",),
    # keyed state
    "test_unbounded.py::test_the_last_running_value_of_a_key_is_the_bounded_answer[unbounded-count]": (
        "NativeAggregateOp",
    ),
    "test_state.py::test_states_one_after_the_other_see_the_order_of_the_stream[unbounded]": (
        "RichMachine",
        "row order in two partitions",
    ),
    "test_apply.py::test_operators_one_after_the_other[unbounded]": ("NumberMachine", "ReplicaMachine", "OnDemandOp"),
    "test_state.py::test_keys_are_equal_where_python_says_so[unbounded-nan-1.0]": ("hashes of floats",),
    "test_on_error.py::test_handler_of_an_operator_with_a_state[unbounded]": ("handlers of failures",),
    "test_aggregate.py::test_limit_of_distinct_elements[unbounded]": ("Firsts", "Limiter"),
    "test_combine.py::test_zip_of_streams_that_come_in_pieces[unbounded]": ("Zipper", "two inputs"),
    "test_window_join.py::test_count_windows_of_streams_that_come_in_pieces[unbounded-window2]": ("CountedPairs",),
    "test_window_on_error.py::test_folds_of_windows_that_elements_complete[unbounded-the last few]": ("LastFew",),
    "test_window_unbounded.py::test_windows_of_ones_own_without_keys[unbounded]": ("Own",),
    # timers
    "test_window_unbounded.py::test_sliding_windows_of_each_key[unbounded]": (
        "TimersOp",
        "WindowBucket",
        "Sliding",
        "Measuring",
    ),
    "test_window_unbounded.py::test_reorder_of_keyed_elements_and_its_late_ones[unbounded]": (
        "ReorderBucket",
        "late elements",
    ),
    "test_window_unbounded.py::test_windows_of_processing_time_close_by_themselves": ("timers of processing time",),
    "test_window_unbounded.py::test_a_stream_that_is_silent_holds_nothing_up_and_may_come_back": ("idle inputs",),
    "test_bounded_inputs.py::test_the_answer_is_that_of_bounded_input[window join-unbounded]": (
        "WindowJoinBucket",
        "Pairing",
    ),
    "test_aggregate.py::test_unique_within_a_time_counts_and_diverts_what_comes_too_late[unbounded]": (
        "DeduplicateBucket",
        "DeduplicateByTime",
    ),
}

OF_FIXTURES: dict[str, tuple[str, ...]] = {
    "running_aggregate": ("KeyedStateOp", "Bucket", "FoldMachine"),
    "count_window": ("Windows", "Counted", "TumblingCount"),
    "transaction_window": ("Transactions",),
    "session_window": ("TimersOp", "WindowBucket", "Sessions"),
    "join": ("JoinBucket", "IntervalJoinMachine"),
}
"""The same for the programs of `tests/recovery/fixture_programs.py`, which Spark resumes from a checkpoint."""

SPARK_RUNS = {
    **{f"tests/operators/{test}": names for test, names in _OF_OPERATORS.items()},
    **{f"tests/recovery/test_fixtures.py::test_streams_resume[{kind}]": names for kind, names in OF_FIXTURES.items()},
}
"""The classes that a test runs; an entry that is no class name gives another purpose of the test."""


class Job(Protocol):
    """A job that the driver has run."""

    @property
    def machines(self) -> set[str]:
        """The machines that ran."""

    @property
    def kinds(self) -> set[str]:
        """The kinds of physical operators that it has on Spark."""


def check_claims(test: str, jobs: Sequence[Job]) -> None:
    """A test that runs machines on Spark runs the same ones on the driver, which knows what it has run."""
    claimed = {name for name in SPARK_RUNS.get(re.sub(r"\bdriver\b", "unbounded", test), ()) if name.isidentifier()}
    used = {name for job in jobs for name in job.machines | job.kinds} if claimed else set()
    assert claimed <= used, f"{test} does not run {sorted(claimed - used)}"
