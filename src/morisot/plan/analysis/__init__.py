"""Questions about a plan: its graph, what it may not be, its groups of sinks, its guarantees, its fingerprint."""
