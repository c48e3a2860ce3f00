"""One streaming query: its lifecycle, its starts and restarts, its counts, and its end."""
