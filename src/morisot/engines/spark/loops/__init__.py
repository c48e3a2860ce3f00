"""Loops: one barrier stage with a coordinator, or a job for each round."""
