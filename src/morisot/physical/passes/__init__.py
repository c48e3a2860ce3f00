"""Passes over choices, in the order in which `plan` runs them."""
