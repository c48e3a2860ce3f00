"""Runs programs in processes of their own, and starts them again after failures. No Spark."""
