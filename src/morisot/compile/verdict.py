"""The compiler's verdict on a closure: its form, its result type, and why no faster form is possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from morisot.compile.ir.expressions import Expr
from morisot.types.element import Type
from morisot.worker.rowwise.kernels import Kernel

Form = Literal["column", "kernel", "tokens", "stage"]


@dataclass(frozen=True)
class Refusal:
    """Why a closure has no faster form: a value, never an exception."""

    reason: str
    line: int | None = None
    advice: str = ""

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Value:
    """The symbolic result of an expression: a leaf expression, or a product of values."""

    type: Type
    expr: Expr | None = None
    items: tuple[Value, ...] = ()

    def leaves(self) -> tuple[Expr, ...]:
        """One expression for each leaf column of the type, in the order of `types.element.leaves`."""
        if self.expr is not None:
            return (self.expr,)
        return tuple(leaf for item in self.items for leaf in item.leaves())


@dataclass(frozen=True)
class ColumnForm:
    """The whole closure as expressions over columns: no Python runs."""

    form: ClassVar[Form] = "column"
    result: Value
    shared: tuple[tuple[str, Expr], ...] = ()
    """Values to compute first, each with its name. A later one may use an earlier one."""

    @property
    def type(self) -> Type:
        return self.result.type

    @property
    def raises(self) -> bool:
        exprs = (*self.result.leaves(), *(expr for _, expr in self.shared))
        return any(expr.raises for expr in exprs)


@dataclass(frozen=True)
class KernelForm:
    """Loops and functions of the C library over numbers, as machine code. Rows that it cannot process run in Python."""

    form: ClassVar[Form] = "kernel"
    type: Type
    kernel: Kernel
    refusal: Refusal
    """Why the closure has no column form."""
    captured: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class StageForm:
    """Python over Arrow batches, fused with its neighbours."""

    form: ClassVar[Form] = "stage"
    type: Type
    refusal: Refusal
    captured: tuple[str, ...] = field(default=())


Verdict = ColumnForm | KernelForm | StageForm
