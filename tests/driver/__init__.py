"""Unbounded jobs without a JVM: the plans of queries, and what workers run of them, over micro-batches in memory.

A program is planned as a query, with every operator on its last rung, in Python. The functions that emit it for Spark
emit it here, over frames that are lists of Arrow batches (`frames`). Tasks, processors and machines are those that
Spark's workers run, and are pickled as for them. These modules replace Spark:

- `sql`: the expressions that the emission of unbounded operators writes;
- `frames`: selects, unions, exchanges, joins with a table, watermarks, `mapInArrow` and `transformWithStateInPandas`;
- `store`: the handle of a processor, states, timers, and the checkpoint, which is bytes between two starts of a job;
- `query`: micro-batches, watermarks, the clock, replays and restarts;
- `run`: a program over the elements of a test, as `morisot.testing.run` does it on Spark.

Whatever Spark leaves open is random here: which task reads a file, how rows are cut into Arrow batches, in which order
an exchange delivers them, when a job restarts, and which micro-batches are replayed.

`spark_runs` has the tests that run each physical kind and each machine on Spark in `make test`.
"""
