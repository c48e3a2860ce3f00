"""The code that executors import. It imports neither pyspark nor the plan."""
