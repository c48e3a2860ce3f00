"""What executors import: no pyspark, no plan."""
