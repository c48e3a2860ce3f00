"""Functions of a text that can be called for each of its tokens instead."""
