"""The meaning of each operator in plain Python: the specification, and an engine without a JVM."""
