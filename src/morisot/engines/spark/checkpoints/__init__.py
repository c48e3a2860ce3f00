"""What a job saves: written, checked, owned and restored."""
