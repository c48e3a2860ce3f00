"""The methods of streams, a family a file."""
