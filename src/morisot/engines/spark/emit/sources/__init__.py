"""Sources other than files."""
