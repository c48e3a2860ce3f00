"""All families: importing this registers every rule."""

from morisot.lower import aggregate, folds, iterate, keyed, rowwise, selection, sink, source, state, time

FAMILIES = (source, rowwise, keyed, aggregate, folds, selection, state, time, iterate, sink)
