"""The syntax tree of a decorated function: its stream loops, their data flow, and refusals."""
