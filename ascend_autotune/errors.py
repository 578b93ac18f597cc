"""The errors that the package raises. Each message says what was wrong, where, and the mend."""

from __future__ import annotations


class AscendAutotuneError(Exception):
    """Base of every error raised on purpose by this package."""


class RequestError(AscendAutotuneError, ValueError):
    """The request is wrong: an unknown name, type or target, an empty space ... (CLI: exit 2).

    `on_command_line` is the message in the command line's words, where those are others.
    """

    def __init__(self, message: str, on_command_line: str | None = None) -> None:
        super().__init__(message)
        self.on_command_line = message if on_command_line is None else on_command_line


class NoPerformanceTile(RequestError):
    """A searched parameter changes the kernel's result, and no reference_fn was given."""


class ReferenceFailed(RequestError):
    """reference_fn raised, or its answer does not say what the kernel must write."""


class FlavourError(AscendAutotuneError):
    """No Triton is installed, or two builds of it overwrite each other (CLI: exit 2)."""


class FrontEndError(AscendAutotuneError):
    """Triton's front end refuses this kernel instance; the message is the front end's own."""


class AnalysisError(AscendAutotuneError):
    """The program could not be read. A candidate that meets it is `unknown`, never `infeasible`."""


class JudgeUnavailable(AscendAutotuneError):
    """No Ascend compiler is at hand (CLI: exit 2); the message names the install command."""


class NoConfigRuns(AscendAutotuneError, RuntimeError):
    """No config of a tuned kernel can run; the message lists what was tried and why it failed.

    `search` is the report of the search that came to that.
    """

    search: object = None
