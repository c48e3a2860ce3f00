"""Users' operators in workers."""
