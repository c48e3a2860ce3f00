"""Engines that run plans: Spark, and the reference engine, which is the specification."""
