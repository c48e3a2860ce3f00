"""Fused passes over Arrow batches, in Python and as machine code."""
