"""The physical plan to Spark DataFrames: a file for each family of operators."""
