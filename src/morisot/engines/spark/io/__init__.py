"""Directories of files that sinks write: how each is written, committed and restored."""
