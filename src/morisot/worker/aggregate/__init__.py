"""Accumulators of windows and folds in two phases."""
