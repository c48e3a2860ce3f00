"""Which parts of an element are not None after a filter."""
