"""What a round of a loop is on Spark."""
