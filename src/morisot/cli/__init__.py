"""The command line. Its modules import no pyspark, and the commands import what they need when they run."""
