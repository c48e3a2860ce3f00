"""Exact forms: expressions that give CPython's value or fail."""
