"""Sources that need more than a reader of files."""
