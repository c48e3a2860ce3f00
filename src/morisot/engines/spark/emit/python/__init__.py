"""Operators in Python workers: fused stages and kernels, folds, and machines in row order."""
