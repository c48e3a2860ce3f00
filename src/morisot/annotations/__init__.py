"""Annotations: marks that make a sequential loop a pipeline."""
