"""DataFrames whose columns are the leaves of an element type, and the SQL text over them."""
