"""The table of functions and methods that are understood."""
