"""Benchmarks of unbounded streams."""
