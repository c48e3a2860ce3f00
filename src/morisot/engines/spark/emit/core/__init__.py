"""The emission of a plan, and the table of the functions that emit its operators."""
