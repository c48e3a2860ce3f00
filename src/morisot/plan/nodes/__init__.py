"""The operators: a file for each family, and what they are made of."""
