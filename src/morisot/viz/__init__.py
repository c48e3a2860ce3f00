"""Pictures of plans, for people."""
