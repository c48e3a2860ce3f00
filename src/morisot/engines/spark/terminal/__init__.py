"""What is shown on the terminal while a job runs."""
