"""Undocumented interfaces and file formats of Spark, with a module for each subject."""
