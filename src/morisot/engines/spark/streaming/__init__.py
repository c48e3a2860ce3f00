"""Unbounded jobs: streaming queries, their sources, sinks and metrics."""
