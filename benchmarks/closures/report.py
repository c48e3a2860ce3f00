"""What was found, as tables to read and as JSON to keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.table import Table

from benchmarks.closures.forms import FORMS, KINDS, TARGETS
from benchmarks.closures.variants import ARROW_UDF, MORISOT, RDD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.closures.entry import Entry
    from benchmarks.closures.measure import Measurement, Options


def as_json(
    results: Sequence[Measurement], lowered: Sequence[Entry] | None, machine: dict[str, Any], options: Options
) -> dict[str, Any]:
    """Everything that was found."""
    names = {entry.key for entry in lowered or ()}
    return {
        "machine": machine,
        "options": asdict(options),
        "transpiler": lowered is not None,
        "closures": {
            result.entry.key: {
                "kind": result.entry.kind,
                "form": result.form,
                "reason": result.reason,
                "advice": result.advice,
                "moved": result.moved,
                "problem": result.problem,
                "transpiled_by_spark": result.entry.key in names,
                "cpu_micros_per_row": result.micros,
                "arrow_udf_ratio": result.ratio(ARROW_UDF),
                "rdd_ratio": result.ratio(RDD),
            }
            for result in results
        },
    }


def show(document: dict[str, Any], console: Console, looked_for: str) -> None:
    """Each closure, then the counts, then what was promised."""
    closures = document["closures"]
    if any(one["cpu_micros_per_row"] for one in closures.values()):
        console.print(_each(closures))
    _refusals(closures, console)
    console.print(_forms(closures))
    _transpiler(document, console, looked_for)
    _promises(closures, console)
    for name, one in closures.items():
        if one["problem"] is not None:
            console.print(f"{name}: {one['problem']}", markup=False, style="red")


def _each(closures: dict[str, Any]) -> Table:
    table = Table(title="CPU microseconds for a row: tasks and workers", caption="× : times Morisot's cost")
    for name in ("closure", "form", "Morisot", "Arrow UDF", "×", "RDD lambda", "×"):
        table.add_column(name, justify="left" if name in ("closure", "form") else "right", no_wrap=True)
    for name, one in closures.items():
        micros = one["cpu_micros_per_row"]
        form = one["form"] + (" → stage" if one["moved"] else "")
        costs = [_number(micros.get(way)) for way in (MORISOT, ARROW_UDF, RDD)]
        ratios = [_number(one[ratio], 1) for ratio in ("arrow_udf_ratio", "rdd_ratio")]
        table.add_row(name, form, costs[0], costs[1], ratios[0], costs[2], ratios[1])
    return table


def _number(value: float | None, places: int = 2) -> str:
    return "" if value is None else f"{value:.{places}f}"


def _refusals(closures: dict[str, Any], console: Console) -> None:
    for name, one in closures.items():
        if one["form"] == "stage":
            console.print(f"{name}: stage — {one['reason']} ↳ {one['advice']}", markup=False)


def _forms(closures: dict[str, Any]) -> Table:
    table = Table(title=f"{len(closures)} closures")
    for column in ("", *FORMS, "in all", "columns"):
        table.add_column(column, justify="left" if not column else "right")
    for kind in (*KINDS, "all"):
        counts = Counter(one["form"] for one in closures.values() if kind in (one["kind"], "all"))
        total = counts.total()
        share = f"{counts['column'] / total:.1%}" if total else ""
        table.add_row(kind, *(str(counts[form]) for form in FORMS), str(total), share)
    return table


def _transpiler(document: dict[str, Any], console: Console, looked_for: str) -> None:
    if not document["transpiler"]:
        console.print(f"Spark's own transpiler is not there: {looked_for} were looked for.")
        return
    lowered = [one for one in document["closures"].values() if one["transpiled_by_spark"]]
    total = len(document["closures"])
    console.print(f"Spark's own transpiler lowers {len(lowered)} of the {total}; Morisot makes columns of ", end="")
    console.print(f"{sum(one['form'] == 'column' for one in document['closures'].values())}.")


def _promises(closures: dict[str, Any], console: Console) -> None:
    for name, (title, wanted) in TARGETS.items():
        ratio = closures.get(name, {}).get("arrow_udf_ratio")
        if ratio is not None:
            console.print(f"{title}: {ratio:.0f} times less than an Arrow UDF (wanted: {wanted:.0f})", markup=False)
    ratios = {name: one["arrow_udf_ratio"] for name, one in closures.items() if one["arrow_udf_ratio"] is not None}
    if ratios:
        slower = {name: ratio for name, ratio in ratios.items() if ratio < 1}
        listed = ", ".join(f"{name} ({ratio:.2f})" for name, ratio in slower.items()) or "none"
        console.print(f"the median closure: {median(ratios.values()):.1f} times less than an Arrow UDF")
        console.print(f"slower than the Arrow UDF: {listed}", markup=False)
