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
    running,
    selection,
    sink,
    source,
    state,
    testing,
    time,
    window,
)

FAMILIES = (
    source,
    rowwise,
    keyed,
    aggregate,
    folds,
    running,
    selection,
    state,
    time,
    window,
    combine,
    join,
    partition,
    iterate,
    sink,
    testing,
)
