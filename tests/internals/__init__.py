"""A test for each private call of Spark and each of its file formats, so that an upgrade shows which one changed."""
