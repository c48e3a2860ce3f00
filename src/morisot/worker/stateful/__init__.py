"""State machines: element by element, in buckets of keys, with timers."""
