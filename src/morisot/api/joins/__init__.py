"""Joins: their nodes, checks and strategies."""
