"""The closures, by theme: functions as users write them, not bent to what the compiler understands."""

from benchmarks.closures.corpus import (  # noqa: F401 - importing a theme registers its closures
    dates,
    feature_engineering,
    flags,
    formatting,
    geometry,
    helper_functions,
    json_like,
    log_lines,
    money,
    numeric_loops,
    parsing,
    records,
    scoring,
    text_cleaning,
    validation,
)
from benchmarks.closures.entry import ENTRIES, Entry

CORPUS: tuple[Entry, ...] = tuple(ENTRIES)
