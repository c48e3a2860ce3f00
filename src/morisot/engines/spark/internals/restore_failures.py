"""Detects failures of Spark to read a checkpoint, by its error conditions and classes.

The message of an error is not used: it may contain the user's data.
"""

from __future__ import annotations

from morisot.engines.spark.internals.causes import Cause, causes
from morisot.errors import SnapshotError
from morisot.runtime.snapshot_errors import START_OVER

_CONDITIONS = (
    "CANNOT_LOAD_STATE_STORE",
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
    "INVALID_LOG_VERSION",
    "MALFORMED_LOG_FILE",
    "STATE_STORE_",
    "STDS_",
    "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "STREAMING_STATEFUL_OPERATOR_",
)
"""Prefixes of the conditions of unusable checkpoints."""
_READERS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.",
    "org.apache.spark.sql.execution.streaming.state.",
    "org.rocksdb.",
)
"""The Java packages that read checkpoints."""
_LIBRARIES = (
    "java.",
    "jdk.",
    "sun.",
    "scala.",
    "com.fasterxml.",
    "org.json4s.",
    "net.jpountz.",
    "com.github.luben.",
    "org.apache.hadoop.",
)
"""Packages that they use, in which the exception may be raised."""
_ANY_TROUBLE = ("java.io.IOException", "org.apache.hadoop.fs.FSError")
"""Exceptions of the file system with many causes, such as a full disk."""


def refuse_unreadable(error: BaseException, checkpoint: str) -> None:
    """Raises an error for a query that failed while it resumed, if the checkpoint is the cause."""
    for cause in causes(error):
        if (cause.condition or "").startswith(_CONDITIONS) or _comes_from_reader(cause):
            name = cause.condition or cause.classes[0].rpartition(".")[2]
            raise SnapshotError(
                f"Spark cannot resume from the checkpoint in {checkpoint}: a file in it is damaged or missing ({name})",
                advice=START_OVER,
            ) from None


def _comes_from_reader(cause: Cause) -> bool:
    """Whether a class that reads checkpoints failed, or a library that it called."""
    if cause.thrown is None or cause.classes[0] in _ANY_TROUBLE:
        return False
    names = (str(frame.getClassName()) for frame in cause.thrown.getStackTrace())
    return next((name for name in names if not name.startswith(_LIBRARIES)), "").startswith(_READERS)
