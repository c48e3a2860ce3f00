"""A corpus of closures as users write them: the form each gets, what it costs, and that it answers as CPython does."""
