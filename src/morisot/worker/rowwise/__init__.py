"""Fused passes over Arrow batches, in Python and in machine code."""
