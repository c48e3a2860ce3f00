"""Bodies of functions: statements, and what they assign to."""
