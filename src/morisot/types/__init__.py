"""Element types as values: what flows, and how it travels."""
