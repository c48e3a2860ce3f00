"""Python's grammar: from syntax trees to symbolic values."""
