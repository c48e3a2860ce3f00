"""Formats and interfaces of Spark's that it does not document."""
