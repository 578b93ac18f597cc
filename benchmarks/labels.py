"""The labels of the real compiler: ../shared/groundtruth as (case, kernel, row) triples.

Three sets: `micro` (small kernels, one per planning rule), `reports` (shapes of public reports) and
`flaggems` (kernels of the wheel flag-gems 5.0.2, installed aside or given by a folder).

    python -m benchmarks.labels --set flaggems [--flaggems FOLDER]     # counts what loads

Kernel sources of FlagGems import torch and the rest of their package; neither is needed to trace a
kernel, so that only the parts of a file that a kernel can refer to are loaded (`load_source`).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from ascend_autotune.analysis.judge.cache import cache_root

GROUNDTRUTH = Path(__file__).resolve().parents[2] / "shared" / "groundtruth"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SETS = ("micro", "reports", "flaggems")
FLAGGEMS = "flag-gems==5.0.2"

_DTYPES = MappingProxyType(
    {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
)


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel under one set of types and constants; its rows differ in config and profile.

    `types` is Triton's notation, one per argument that is neither in `const` nor in a row's config.
    `source` is the file that holds the kernel.
    """

    set: str
    name: str
    kernel: str
    source: Path
    types: tuple[str, ...]
    const: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Label:
    """The compiler's word on one config: `status` is `ok`, `overflow` or a failure of either half.

    `options` are compile options in triton-ascend's names. `required` holds the figures of an
    overflow in bytes, by memory; `fallback` the flags that the compiler switched off by itself,
    sorted. `row` is the label as stored.
    """

    case: Case
    config: Mapping[str, Any]
    options: Mapping[str, object]
    status: str
    required: Mapping[str, int]
    fallback: tuple[str, ...]
    row: Mapping[str, Any]

    @property
    def constants(self) -> dict[str, Any]:
        """The case's constants and the config, constexprs such as dtypes as stored."""
        return {**self.case.const, **self.config}

    def function(self) -> Any:
        """The kernel's JITFunction. Raises whatever its module raises when loaded."""
        load = load_source if self.case.set == "flaggems" else load_module
        return getattr(load(self.case.source), self.case.kernel)

    def signature(self, function: Any) -> dict[str, str]:
        """Runtime argument -> type. Raises ValueError where the case does not fit the kernel."""
        names = [name for name in function.arg_names if name not in self.constants]
        return dict(zip(names, self.case.types, strict=True))

    def given(self, function: Any, searched: Collection[str] = ()) -> dict[str, Any]:
        """`signature` and `constants` for prune and explain; constants but those searched."""
        constants = {
            name: constexpr(value) for name, value in self.constants.items() if name not in searched
        }
        return {"signature": self.signature(function), "constants": constants}


_MEMORIES = MappingProxyType({"ub": "ub", "cbuf": "l1", "cc": "l0c"})


def labels(
    name: str, flaggems: Path | None = None, groundtruth: Path = GROUNDTRUTH
) -> Iterator[Label]:
    """The labels of one set, in the order stored.

    `flaggems` is the folder that holds `flag_gems/`; None installs the wheel into the cache.
    Raises FileNotFoundError where the groundtruth is absent, ValueError for an unknown set.
    """
    if name == "micro":
        yield from _micro(groundtruth / "micro")
    elif name == "reports":
        yield from _table(name, groundtruth / "reports" / "rows.json", groundtruth / "reports")
    elif name == "flaggems":
        yield from _table(name, groundtruth / "flaggems.json", flaggems or fetch_flaggems())
    else:
        raise ValueError(f"unknown set {name!r}; known: {', '.join(SETS)}")


def _micro(folder: Path) -> Iterator[Label]:
    cases: dict[str, Case] = {}
    for line in (folder / "rows.jsonl").read_text().splitlines():
        row = json.loads(line)
        key = json.dumps([row["file"], row["kernel"], row["types"]])
        case = cases.setdefault(
            key,
            Case(
                "micro", row["kernel"], row["kernel"], folder / row["file"], tuple(row["types"]), {}
            ),
        )
        required = {_MEMORIES[m]: int(n) for m, n in row["requires"].items()}
        # The rows say only that a fallback took place, not which flags it touched.
        fallback = ("enable-auto-multi-buffer",) if row["downgraded"] else ()
        options = {"multibuffer": row["multibuffer"]}
        yield Label(case, row["const"], options, row["status"], required, fallback, row)


def _table(name: str, file: Path, root: Path) -> Iterator[Label]:
    table = json.loads(file.read_text())
    cases = {
        case.get("name", case["kernel"]): Case(
            name,
            case.get("name", case["kernel"]),
            case["kernel"],
            root / case["file"],
            tuple(case["types"]),
            case["const"],
        )
        for case in table["cases"]
    }
    for row in table["rows"]:
        required: dict[str, int] = {}
        for memory, need, _ in row.get("overflow", ()):
            required.setdefault(_MEMORIES[memory], need // 8)
        options = {"multibuffer": row.get("profile") != "nomb"}
        fallback = tuple(row.get("downgraded", ()))
        yield Label(
            cases[row["case"]], row["config"], options, row["status"], required, fallback, row
        )


def fetch_flaggems() -> Path:
    """The folder that holds FlagGems' source, installed there once without its dependencies."""
    folder = cache_root() / "benchmarks" / FLAGGEMS.replace("==", "-")
    if (folder / "flag_gems").is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    installer = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else ["uv", "pip"]
    with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
        command = [*installer, "install", "--quiet", "--no-deps", "--target", draft, FLAGGEMS]
        subprocess.run(command, check=True)
        shutil.copytree(draft, folder, dirs_exist_ok=True)
    return folder


def constexpr(value: Any) -> Any:
    """A stored constant as the kernel gets it: `{"dtype": "fp16"}` stands for `tl.float16`."""
    if not isinstance(value, Mapping):
        return value
    import triton.language as tl

    name = value["dtype"]
    return getattr(tl, _DTYPES.get(name, name))


@cache
def load_module(path: Path) -> ModuleType:
    """A file as a module, as it is."""
    path = path.resolve()
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    return _execute(f"labelled_{path.stem}_{digest}", path)


@cache
def load_source(path: Path) -> ModuleType:
    """The kernels of a file, as a module that needs neither torch nor the rest of its package.

    Kept are jit functions (with `triton.jit` alone as decorator), imports and plain assignments;
    each of the latter two may fail. Helpers brought by an import from the same package are taken
    from their file when they are jit functions.
    """
    text = _standalone(path.resolve())
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = f"labelled_{path.stem}_{digest}"
    # Triton reads a kernel's source through its file, so that it has to lie on disk; the content
    # names the file, and several processes may write the same one.
    file = Path(tempfile.gettempdir()) / "ascend_autotune_labels" / f"{name}.py"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as out:
            out.write(text)
        Path(out.name).replace(file)
    return _execute(name, file)


def _execute(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_KEPT = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If, ast.Try)


def _standalone(path: Path) -> str:
    parts = ["import triton", "import triton.language as tl"]
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            parts += _helpers(path, node)
            if node.module == "__future__" or node.level > 0:
                continue
        if isinstance(node, _KEPT):
            body = ast.unparse(node).replace("\n", "\n    ")
            parts.append(f"try:\n    {body}\nexcept Exception:\n    pass")
        elif _is_jit(node):
            parts.append(_jit_source(node))
    return "\n\n".join(parts) + "\n"


def _helpers(path: Path, node: ast.ImportFrom) -> list[str]:
    base = path.parent
    if node.level > 0:
        for _ in range(node.level - 1):
            base = base.parent
    else:
        top = (node.module or "").split(".")[0]
        base = next((folder for folder in path.parents if (folder / top).is_dir()), Path("/"))
    file = base.joinpath(*(node.module or "").split(".")).with_suffix(".py")
    if not file.is_file():
        return []
    wanted = {alias.name for alias in node.names}
    body = ast.parse(file.read_text()).body
    return [_jit_source(n) for n in body if _is_jit(n) and n.name in wanted]  # type: ignore[attr-defined]


def _is_jit(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        "jit" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def _jit_source(node: ast.stmt) -> str:
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list = [ast.parse("triton.jit", mode="eval").body]
    # FlagGems' own extension wraps these two; the wrapper needs a device.
    return re.sub(r"\b(tle|ext)\.(program_id|num_programs)\b", r"tl.\2", ast.unparse(node))


def main() -> None:
    """Print how many rows of each set load with this Triton, by status."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--flaggems", type=Path, help="folder that holds flag_gems/")
    arguments = parser.parse_args()
    for name in arguments.set or SETS:
        counts: Counter[str] = Counter()
        for label in labels(name, arguments.flaggems):
            try:
                label.signature(label.function())
            except (ImportError, AttributeError, ValueError):
                counts["does_not_load"] += 1  # libdevice functions exist on triton-ascend only
            else:
                counts[label.status] += 1
        print(json.dumps({"set": name, "rows": counts.total(), **counts}))


if __name__ == "__main__":
    main()
