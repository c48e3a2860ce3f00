"""Conversion between Arrow and Python elements, and the stored form of states."""
