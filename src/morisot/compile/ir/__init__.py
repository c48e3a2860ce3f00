"""Expressions over columns and the values made of them."""
