"""Hostile data on every path on which an error is reported."""
