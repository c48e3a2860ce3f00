"""Rules for the kinds of expression: what `translate` dispatches to."""
