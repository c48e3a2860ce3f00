"""The physical plan: how each operator of the logical plan runs, chosen once, without Spark."""
