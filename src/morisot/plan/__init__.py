"""What the user said, as immutable values: one frozen dataclass per core operator."""
