"""One streaming query and what leads it: its lifecycle, its starts and restarts, its counts, its end."""
