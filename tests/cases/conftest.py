"""The cases run on the engines that the operator tests run on."""

from tests.operators.conftest import make_context

__all__ = ["make_context"]
