"""The versions of Spark with which this package was tested. Others may differ in undocumented interfaces."""

from __future__ import annotations

from morisot.errors import EnvironmentProblem

CHECKED = ("4.3",)
"""Add a version when the tests in tests/internals, which try each private call and file format, pass with it."""


def installed_version() -> str:
    """The version of the imported PySpark."""
    import pyspark

    return pyspark.__version__


def check_version(version: str) -> None:
    """Raises an error for a version of Spark that was not tested.

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
