"""Translation of Python's syntax trees to symbolic values."""
