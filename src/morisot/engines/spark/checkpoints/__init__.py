"""Checkpoints: how they are written, checked, locked and restored."""
