"""Operators on unbounded input: keyed state, timers, watermarks and row order."""
