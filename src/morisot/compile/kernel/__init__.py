"""Functions over numbers as machine code, by numba."""
