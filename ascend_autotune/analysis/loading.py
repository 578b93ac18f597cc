"""`FILE.py:KERNEL` or `pkg.mod:KERNEL` -> the kernel object, with or without a device."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.hostdriver import host_only
from ascend_autotune.analysis.kernel import unwrap
from ascend_autotune.analysis.suggest import closest
from ascend_autotune.errors import AscendAutotuneError, RequestError


def load_kernel(name: str) -> object:
    """The kernel that `FILE.py:KERNEL` or `pkg.mod:KERNEL` names, wrappers included.

    Where no device is there a host-only driver stands in while the module is imported. What
    the module prints goes to stderr. Raises `RequestError` for a module that cannot be found
    or imported and for a kernel that is not in it, `FlavourError` where no Triton can be used.
    """
    place, colon, kernel = name.rpartition(":")
    if not colon or not place or not kernel:
        raise RequestError(f"{name!r} names no kernel: write FILE.py:KERNEL or pkg.mod:KERNEL")
    detect()
    module = _load_file(Path(place)) if _is_file(place) else _load_module(place)
    found: object = module
    for part in kernel.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise RequestError(_not_found(kernel, place, module))
    try:
        unwrap(found)
    except RequestError as error:
        raise RequestError(f"{place}: {error}{_others(module)}") from error
    return found


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or Path(place).is_file()


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise RequestError(f"there is no file {path}{_near(path)}")
    path = path.resolve()
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    if len(parts) > 1:  # a module of a package may import its neighbours relatively
        return _importing(str(path), root, lambda: importlib.import_module(".".join(parts)))
    return _importing(str(path), root, lambda: _execute(path))


def _execute(path: Path) -> ModuleType:
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == str(path):
            return known
        name = f"_ascend_autotune_{name}"  # a file may be called like a module in use
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _load_module(name: str) -> ModuleType:
    return _importing(name, Path.cwd(), lambda: importlib.import_module(name))


def _importing(called: str, folder: Path, load: Callable[[], ModuleType]) -> ModuleType:
    with _on_path(folder), host_only(), contextlib.redirect_stdout(sys.stderr):
        try:
            return load()
        except AscendAutotuneError:
            raise
        except (Exception, SystemExit) as error:
            line = " ".join(traceback.format_exception_only(error)[-1].split())
            raise RequestError(f"{called} cannot be imported: {line}{_where(error)}") from error


@contextlib.contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(entry)


def _where(error: BaseException) -> str:
    """The innermost line outside Python's own importing; a SyntaxError has its own."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" (at {error.filename}:{error.lineno})"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
        and frame.filename != __file__
        and "/importlib/" not in frame.filename
    ]
    return f" (at {frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _near(path: Path) -> str:
    folder = path.parent
    names = [p.name for p in folder.glob("*.py")] if folder.is_dir() else []
    match = closest(path.name, names)
    return f"; did you mean {folder / match}?" if match else ""


def _not_found(kernel: str, place: str, module: ModuleType) -> str:
    match = closest(kernel, _kernels(module))
    meant = f"; did you mean {match!r}?" if match else ""
    return f"{place} has no kernel {kernel!r}{meant}{_others(module)}"


def _others(module: ModuleType) -> str:
    names = _kernels(module)
    return f" (kernels there: {', '.join(names)})" if names else " (there are no kernels in it)"


def _kernels(module: ModuleType) -> list[str]:
    """Names of the kernels that a module defines or imports, helpers included."""
    names = []
    for name, value in vars(module).items():
        if name.startswith("__") or isinstance(value, ModuleType | type):
            continue
        with contextlib.suppress(RequestError):
            unwrap(value)
            names.append(name)
    return names
