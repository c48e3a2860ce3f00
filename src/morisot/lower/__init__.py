"""Plans to Spark DataFrames, bounded or unbounded."""
