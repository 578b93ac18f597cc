"""Write down the names of torch_npu that exist, read from the wheel's own files.

    python3.11 tools/torch_npu_names.py [WHEEL]      downloads torch-npu==2.13.0 where none is given

The wheel cannot be imported without CANN; its Python files can be read. The list goes to
tests/search/torch_npu_names.json, which tests/search/test_npu.py holds search/npu.py against.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "2.13.0"
NAMES = Path(__file__).resolve().parent.parent / "tests" / "search" / "torch_npu_names.json"
MODULES = {"npu": "torch_npu/npu/__init__.py", "profiler": "torch_npu/profiler/__init__.py"}
# Calls whose keywords are checked: name -> (file, class or function).
CALLS = {
    "npu.Event": ("torch_npu/npu/streams.py", "Event", "__new__"),
    "npu.synchronize": ("torch_npu/npu/utils.py", "", "synchronize"),
    "npu.current_device": ("torch_npu/npu/utils.py", "", "current_device"),
    "npu.device": ("torch_npu/npu/utils.py", "device", "__init__"),
    "profiler.profile": ("torch_npu/profiler/profiler.py", "profile", "__init__"),
    "profiler.schedule": ("torch_npu/profiler/scheduler.py", "Schedule", "__init__"),
    "profiler.tensorboard_trace_handler": (
        "torch_npu/profiler/profiler.py", "", "tensorboard_trace_handler",
    ),
    "profiler._ExperimentalConfig": (
        "torch_npu/profiler/experimental_config.py", "_ExperimentalConfig", "__init__",
    ),
}  # fmt: skip
# Classes whose members are checked. ProfilerActivity is made in C++: its members are those that
# the wheel's own Python names.
MEMBERS = {
    "npu.Event": ("torch_npu/npu/streams.py", "Event"),
    "profiler.ProfilerLevel": ("torch_npu/profiler/experimental_config.py", "ProfilerLevel"),
    "profiler.AiCMetrics": ("torch_npu/profiler/experimental_config.py", "AiCMetrics"),
    "profiler.profile": ("torch_npu/profiler/profiler.py", "profile"),
}


def names_in(text: str) -> list[str]:
    """Every name that a module binds at its top level, those of imports included."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return sorted(found - {"*"})


def read(wheel: Path) -> dict[str, object]:
    """The list for a wheel."""
    with zipfile.ZipFile(wheel) as files:

        def text(name: str) -> str:
            return files.read(name).decode()

        modules = {name: names_in(text(file)) for name, file in MODULES.items()}
        calls = {name: _parameters(text(file), cls, fn) for name, (file, cls, fn) in CALLS.items()}
        members = {name: _members(text(file), cls) for name, (file, cls) in MEMBERS.items()}
        python = [n for n in files.namelist() if n.endswith(".py") and "/profiler/" in n]
        members["profiler.ProfilerActivity"] = sorted(
            {
                node.attr
                for name in python
                for node in ast.walk(ast.parse(text(name)))
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "ProfilerActivity"
            }
        )
        version = next(n for n in files.namelist() if n.endswith("dist-info/METADATA"))
    return {
        "wheel": version.partition(".dist-info")[0],
        "modules": modules,
        "calls": calls,
        "members": members,
    }


def _class(text: str, name: str) -> ast.ClassDef:
    return next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef) and n.name == name)


def _parameters(text: str, owner: str, function: str) -> list[str]:
    body = _class(text, owner).body if owner else ast.parse(text).body
    found = next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == function)
    arguments = found.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def _members(text: str, name: str) -> list[str]:
    """Methods and attributes of a class, and those of its bases in the same file."""
    found: set[str] = set()
    owner = _class(text, name)
    for node in owner.body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for base in owner.bases:
        if isinstance(base, ast.Name) and f"class {base.id}" in text:
            found |= set(_members(text, base.id))
    return sorted(found)


def download(folder: Path) -> Path:
    """The wheel, without its dependencies."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version=3.11", "--dest", str(folder)]
    command.append(f"torch-npu=={VERSION}")
    subprocess.run(command, check=True)
    return next(folder.glob("torch_npu-*.whl"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else download(Path(folder))
        NAMES.write_text(json.dumps(read(wheel), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
