"""All families: importing this registers every rule."""

from morisot.lower import aggregate, combine, folds, iterate, keyed, rowwise, selection, sink, source, state, time

FAMILIES = (source, rowwise, keyed, aggregate, folds, selection, state, time, combine, iterate, sink)
