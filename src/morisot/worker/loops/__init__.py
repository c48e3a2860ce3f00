"""What the tasks of a loop do, and how they talk to the driver."""
