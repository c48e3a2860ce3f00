"""The result types of functions that run in Python."""
