"""Element types as values."""
