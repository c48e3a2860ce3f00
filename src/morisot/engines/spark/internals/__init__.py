"""Interfaces and file formats of Spark that it does not document: a module for each subject."""
