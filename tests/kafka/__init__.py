"""Programs that talk to a real broker."""
