"""The public interface: contexts, streams and their methods."""
