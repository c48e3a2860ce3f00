"""Output directories of sinks: how they are written, committed and restored."""
