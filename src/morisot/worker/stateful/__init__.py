"""Machines of stateful operators: element by element, in buckets of keys, with timers."""
