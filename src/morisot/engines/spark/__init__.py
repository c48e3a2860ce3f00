"""The Spark engine, for bounded and unbounded plans."""
