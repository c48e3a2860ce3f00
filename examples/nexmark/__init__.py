"""Nexmark: the events of an online auction, and queries over them."""
