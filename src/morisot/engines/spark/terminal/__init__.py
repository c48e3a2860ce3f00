"""Terminal output while a job runs."""
