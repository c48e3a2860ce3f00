"""All families: importing this registers every rule."""

from morisot.lower import (
    aggregate,
    combine,
    folds,
    iterate,
    join,
    keyed,
    partition,
    rowwise,
    selection,
    sink,
    source,
    state,
    time,
    window,
)

FAMILIES = (
    source,
    rowwise,
    keyed,
    aggregate,
    folds,
    selection,
    state,
    time,
    window,
    combine,
    join,
    partition,
    iterate,
    sink,
)
