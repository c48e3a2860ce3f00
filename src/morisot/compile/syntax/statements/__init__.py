"""Bodies of functions: statements and assignments."""
