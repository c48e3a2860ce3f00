"""Folds that are recognised as Spark's own aggregates."""
