"""TTIR for a kernel instance: with no device, no torch and no driver, the same on every flavour."""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from ascend_autotune.analysis.adapters.base import FrontEnd
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.kernel import KernelInstance
from ascend_autotune.errors import AnalysisError, FrontEndError

logger = logging.getLogger("ascend_autotune")
# A trace swaps sys.stdout and uses a shared context; it holds the interpreter's lock anyway.
_LOCK = threading.RLock()
_LONGEST = 400  # characters of a message; some of Triton's list every overload
_EXCEPTION = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Ttir:
    """A traced program: `text` in custom form, as the Ascend adapter takes it; `generic` in
    MLIR's generic form, as `reader.parse_module` takes it. Both carry source locations."""

    text: str
    generic: str


def trace(instance: KernelInstance) -> Ttir:
    """Trace a kernel instance through Triton's front end and triton-ascend 3.2.0's TTIR passes.

    Raises `FrontEndError` with the kernel's line and the front end's innermost message,
    `RequestError` where a constant is missing or a heuristic cannot be computed,
    `FlavourError` where no Triton can be used.
    """
    ready = instance.complete()
    function: Any = ready.function
    names: list[str] = list(function.arg_names)
    signature = {name: ready.signature.get(name, "constexpr") for name in names}
    divisible = [index for index, name in enumerate(names) if name in ready.divisible]
    with _LOCK:
        front_end = _front_end(ready.chip.name)
        printed = io.StringIO()
        try:
            # tl.static_print, and a module that does not verify, would mix with our own output.
            with contextlib.redirect_stdout(printed):
                text, generic = front_end.trace(function, signature, ready.constants, divisible)
        except Exception as error:
            raise FrontEndError(message_of(error, function)) from error
        finally:
            if printed.tell():
                logger.debug("tracing %s printed:\n%s", ready.name, printed.getvalue())
    if '"tt.func"' not in generic:
        raise AnalysisError(f"{detect()} did not print {ready.name} in MLIR's generic form")
    return Ttir(text, generic)


@cache
def _front_end(chip: str) -> FrontEnd:
    if detect().ascend:
        from ascend_autotune.analysis.adapters.ascend import AscendBackend

        return FrontEnd(AscendBackend(chip))
    from ascend_autotune.analysis.adapters.upstream import UpstreamBackend

    return FrontEnd(UpstreamBackend(chip))


def message_of(error: BaseException, function: Any) -> str:
    """`file:line: cause` of a front end's error, on one line.

    The line is the kernel's own, even where the cause lies in a helper that it calls.
    """
    lineno = getattr(getattr(error, "node", None), "lineno", None)
    cause = _one_line(_innermost(error))
    if lineno is None:
        return cause
    from ascend_autotune.analysis.kernel import source_of

    file, first = source_of(function)
    return f"{file}:{first + lineno - 1}: {cause}"


def _innermost(error: BaseException) -> str:
    """The text of the last error in the chain; Triton keeps some of them by their repr only."""
    text = ""
    current: BaseException | None = error
    while current is not None:
        # A CompilationError prints the source; its own message is apart, None when it only wraps.
        own = getattr(current, "error_message", str(current)) if _wraps(current) else str(current)
        text = own or text or type(current).__name__
        current = current.__cause__
    return _unquoted(text)


def _wraps(error: BaseException) -> bool:
    return hasattr(error, "error_message") and hasattr(error, "node")


def _unquoted(text: str) -> str:
    """`ValueError('x')` -> `x`."""
    match = _EXCEPTION.fullmatch(text.strip())
    if match is None or not match[1].endswith(("Error", "Exception", "Failure", "Iteration")):
        return text
    if not match[2].strip():
        return match[1]
    try:
        arguments = ast.literal_eval(f"({match[2]},)")
    except (SyntaxError, ValueError):
        return text
    found = next((a for a in arguments if isinstance(a, str) and a), None)
    if found is None:
        return text
    return f"no such key: {found}" if match[1] == "KeyError" else found


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
