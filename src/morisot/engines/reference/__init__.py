"""What each operator means, in plain Python: the specification, and an engine that needs no JVM."""
