"""The exceptions of Raddle: one base class, and a class for each cause.

``Interrupted`` is the exception to the rule: Ctrl-C is not an error, so ``except RaddleError`` does not catch it.
"""

from __future__ import annotations

from typing import Any


class RaddleError(Exception):
    """The base of all errors of Raddle.

    ``message`` says what is wrong, ``hint`` what would be right. The place in the experiment is ``key`` (such as
    ``"topology.kind"``) and, in a text, ``file``, ``line`` and ``column`` (both counted from 1). They are ``None`` if the
    error has no place.
    """

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message, hint, file, line, column, key)
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column
        self.key = key

    def __str__(self) -> str:
        if self.line is not None:
            place = f"{self.file}:{self.line}:{self.column}: "
        else:
            place = "" if self.key is None else f"{self.key}: "
        hint = "" if self.hint is None else f" ({self.hint})"
        return f"{place}{self.message}{hint}"


class ExperimentError(RaddleError, ValueError):
    """An experiment is wrong."""


class UnreadableFileError(ExperimentError):
    """A file cannot be read."""


class BadFileError(ExperimentError):
    """The content of a file that the experiment names is not valid."""


class TomlError(ExperimentError):
    """The text is not TOML."""


class OverrideError(ExperimentError):
    """An override is not ``key=value``."""


class UnknownKeyError(ExperimentError):
    """A table does not have this key."""


class MissingKeyError(ExperimentError):
    """A required key is missing."""


class MissingTableError(ExperimentError):
    """A required table is missing."""


class WrongTypeError(ExperimentError):
    """A value has the wrong type."""


class QuantityError(ExperimentError):
    """A quantity, such as a rate or a time, cannot be read."""


class UnknownNameError(ExperimentError):
    """A name, such as that of a scheme, is not known."""


class OutOfRangeError(ExperimentError):
    """A value is not allowed."""


class ContradictionError(ExperimentError):
    """Two settings contradict each other."""


class DuplicateError(ExperimentError):
    """A name is given twice."""


class NoSuchHostError(ExperimentError):
    """The topology does not have this host."""


class SelfFlowError(ExperimentError):
    """A flow leads from a node to itself."""


class UnreachableError(ExperimentError):
    """No path leads from the source of a flow to its destination."""


class RouteTooLongError(ExperimentError):
    """Routes are too long for the header of the scheme."""


class UsageError(RaddleError):
    """Something was asked for that does not exist or is not allowed."""


class FileError(RaddleError):
    """A file of results cannot be read or written."""


class RecordsError(RaddleError):
    """Records cannot be read or written."""


class UndeliveredError(RaddleError):
    """A run reached its end and delivered none of its flows."""


class RunError(RaddleError):
    """A run failed."""


class DisplacedError(RaddleError):
    """Results are complete, but could not be given their name."""


class RaddleWarning(UserWarning):
    """A setting of an experiment is probably not what was meant."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped the work. ``result`` holds the partial results, or ``None`` if there are none."""

    def __init__(self, message: str = "interrupted", *_: object, result: Any = None) -> None:
        super().__init__(message)
        self.result = result
