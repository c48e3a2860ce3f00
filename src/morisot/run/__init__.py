"""Sessions, jobs, loops and snapshots: what happens when a plan runs."""
