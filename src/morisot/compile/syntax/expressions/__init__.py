"""Rules for the kinds of expression, which `translate` dispatches to."""
