"""The aggregates that run in Python, and their two phases on bounded input."""
