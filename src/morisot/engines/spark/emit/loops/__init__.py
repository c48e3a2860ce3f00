"""The emission of a round of a loop."""
