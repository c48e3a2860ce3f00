"""From the logical plan to the physical one: how each operator runs, chosen once, without Spark."""
