"""Failures and elements that were left out, on their way to the driver."""
