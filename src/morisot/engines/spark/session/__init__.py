"""The Spark session: its JVM, its settings, signals, and its end."""
