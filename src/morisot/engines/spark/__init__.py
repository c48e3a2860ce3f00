"""The Spark engine: plans on a session, bounded and unbounded."""
