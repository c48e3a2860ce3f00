"""Files of rows in plain Python: one implementation for the reference engine and for workers of Spark."""
