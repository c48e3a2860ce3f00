"""Code that engines share: counts of skipped elements, the protocol of sinks, metrics, and files."""
