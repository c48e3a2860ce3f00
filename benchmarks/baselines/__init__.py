"""The same workloads in hand-written PySpark: DataFrames as an expert writes them, and RDDs of lambdas."""
