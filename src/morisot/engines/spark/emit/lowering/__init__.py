"""The walk over a plan that emits a frame for each operator, and the rules that it asks."""
