"""Compiles each closure to its fastest exact form."""
