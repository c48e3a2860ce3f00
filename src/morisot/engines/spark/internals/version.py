"""The versions of Spark that this package was checked with: others may differ in what Spark does not document."""

from __future__ import annotations

from morisot.errors import EnvironmentProblem

CHECKED = ("4.3",)
"""The tests in tests/internals try each private call and each file format; add a version when they pass with it."""


def installed_version() -> str:
    """The version of PySpark, wherever it was imported from."""
    import pyspark

    return pyspark.__version__


def check_version(version: str) -> None:
    """Refuse a version of Spark with which nothing here was checked.

    >>> check_version("4.3.1")
    >>> check_version("5.0.0")
    Traceback (most recent call last):
    morisot.errors.EnvironmentProblem: This is Spark 5.0.0, ...
    """
    if ".".join(version.split(".")[:2]) not in CHECKED:
        known = " and ".join(CHECKED)
        raise EnvironmentProblem(
            f"This is Spark {version}, and Morisot was checked with Spark {known}: it relies on interfaces and files "
            "of Spark that another version may have changed. Install one that was checked, with "
            f"`pip install 'pyspark=={CHECKED[-1]}.*'`, or a version of Morisot for Spark {version}."
        )
