"""Sinks for `write_to` that have every element exactly once, if the job has snapshots."""

from morisot.sinks.directory import Directory
from morisot.sinks.postgresql import PostgreSQL
from morisot.sinks.sqlite import SQLite

__all__ = ["Directory", "PostgreSQL", "SQLite"]
