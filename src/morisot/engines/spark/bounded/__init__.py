"""Bounded jobs, and those that resume from snapshots."""
