"""Each closure to its fastest faithful form."""
