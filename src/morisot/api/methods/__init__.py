"""The methods of streams, with a file for each family."""
