"""The driver's side of users' operators with replicas."""
