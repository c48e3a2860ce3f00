"""All families: importing this registers every rule."""

from morisot.lower import aggregate, folds, keyed, rowwise, sink, source

FAMILIES = (source, rowwise, keyed, aggregate, folds, sink)
