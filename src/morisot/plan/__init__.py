"""The logical plan as immutable values: one frozen dataclass for each core operator."""
