"""The tasks of a loop, and their connection to the driver."""
