"""The applications of examples/pipelines by hand, with `multiprocessing.Pool`."""
