"""What engines share: counts of elements that were left out, the protocol of sinks, metrics, and files."""
