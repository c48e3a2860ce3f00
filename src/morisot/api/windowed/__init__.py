"""What the windows of plain and keyed streams share."""
