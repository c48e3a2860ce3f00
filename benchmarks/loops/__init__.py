"""Loops: k-means, PageRank, connected components, transitive closure, collatz; `python -m benchmarks.loops`."""
