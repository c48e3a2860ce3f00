"""The operators, with a file for each family."""
