"""The table of functions and methods that have a column form."""
