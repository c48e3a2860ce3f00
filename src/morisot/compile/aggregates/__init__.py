"""Recognition of folds that Spark's native aggregates compute."""
