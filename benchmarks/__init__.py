"""Morisot against hand-written PySpark and RDD lambdas: the same answers, at what cost."""
