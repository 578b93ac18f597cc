"""Make what a command needs, then run it: the demo, the tests, the linters.

    python3.11 tools/run.py demo                 explain and prune examples/flash_attention.py
    python3.11 tools/run.py test [PYTEST ...]    the tests, on triton-ascend
    python3.11 tools/run.py test --flavour triton==3.5.1 tests/analysis
    python3.11 tools/run.py lint                 ruff, mypy --strict, import-linter
    python3.11 tools/run.py exec -- COMMAND ...  any command inside an environment
    python3.11 tools/run.py prepare FLAVOUR ...  make environments and stop

A flavour is triton-ascend (where none is given) or triton==VERSION.

Needs Python 3.11 and pip, nothing else. Each Triton flavour gets its own environment, since two
builds of Triton in one overwrite each other. Environments live in .envs/ of the checkout, named
after what they hold; one is made anew when pyproject.toml asks for other packages. Deleting
.envs/ is always safe. The exit code is that of the command that ran, 2 where set-up failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".envs"
ASCEND = "triton-ascend"
DEFAULT_TEST_WORKERS = 2
OLDEST_PIP_WITH_PYTHON_OPTION = (22, 3)
# For the tests that compute a kernel's results. Only the CPU build: PyPI's for Linux requires
# upstream Triton, which would overwrite triton-ascend.
TORCH = "torch==2.13.0+cpu"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


class SetupError(Exception):
    """Set-up cannot go on; the message is one line that names the mend."""


def say(text: str) -> None:
    """Print a line of progress to stderr, so that stdout stays the command's own."""
    print(f"[run] {text}", file=sys.stderr, flush=True)


def requirements(flavour: str) -> list[str]:
    """What pip installs for a flavour: `triton-ascend`, or upstream as `triton==VERSION`.

    Raises:
        SetupError: the flavour has no wheels for this Python or machine, or is not known.
    """
    if flavour == ASCEND:
        here = (platform.python_implementation(), platform.machine(), sys.platform)
        if here != ("CPython", "x86_64", "linux") or sys.version_info[:2] != (3, 11):
            raise SetupError(
                "triton-ascend 3.2.0 has wheels only for CPython 3.11 on x86-64 Linux, and this is "
                f"{here[0]} {platform.python_version()} on {here[1]} {here[2]}: run this with "
                "python3.11 there, or pass --flavour triton==3.9.0"
            )
        return [f"{ROOT}[ascend,dev]"]
    if flavour == "triton" or flavour.startswith(("triton=", "triton<", "triton>", "triton~")):
        return [f"{ROOT}[triton,dev]", flavour]
    raise SetupError(f"unknown flavour {flavour!r}: say {ASCEND}, or triton==VERSION")


def environment_path(flavour: str) -> Path:
    """The folder of a flavour's environment; its name changes with what is to be installed."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        "requirements": requirements(flavour),  # holds the checkout's path: environments don't move
        "project": project["project"],
        "build": project["build-system"],
        "torch": TORCH if flavour == ASCEND else "",
        "python": [sys.base_prefix, sys.version],
    }
    digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:12]
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in flavour.replace("==", "-"))
    return ENVIRONMENTS / f"{name}-{digest}"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two commands do not make one environment at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            import fcntl
        except ImportError:  # Windows: no lock, and nobody runs CI there
            yield
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def installer(environment: Path) -> list[str]:
    """Make an empty environment; the start of a pip command that installs into it.

    Raises:
        SetupError: this Python has neither a pip that can serve another one, nor ensurepip
            (Debian keeps that in python3-venv).
    """
    base = [sys.executable, "-m", "venv"]
    python = str(python_of(environment))
    if importlib.util.find_spec("ensurepip") is not None:
        if subprocess.run([*base, str(environment)], check=False).returncode == 0:
            return [python, "-m", "pip"]
        shutil.rmtree(environment, ignore_errors=True)
    if importlib.util.find_spec("pip") is not None:
        version = tuple(int(x) for x in importlib.metadata.version("pip").split(".")[:2])
        if version >= OLDEST_PIP_WITH_PYTHON_OPTION:
            subprocess.run([*base, "--without-pip", str(environment)], check=True)
            return [sys.executable, "-m", "pip", "--python", python]
    raise SetupError(
        f"{sys.executable} can make no virtual environment with pip: install ensurepip (Debian, "
        "Ubuntu: apt-get install python3.11-venv) or pip 22.3 or newer"
    )


def python_of(environment: Path) -> Path:
    """The environment's own Python."""
    windows = sys.platform == "win32"
    return environment / ("Scripts/python.exe" if windows else "bin/python")


def prepare(flavour: str) -> Path:
    """Make the environment of a flavour unless it is there; its folder.

    Raises:
        SetupError: something could not be installed.
    """
    environment = environment_path(flavour)
    ready = environment / ".ready"  # written last: a killed set-up leaves none
    if ready.exists():
        return environment
    with locked(environment.parent / f"{environment.name}.lock"):
        if ready.exists():
            return environment
        start = time.monotonic()
        say(f"making {environment.relative_to(ROOT)} for {flavour} (a few minutes, once)")
        shutil.rmtree(environment, ignore_errors=True)
        pip = installer(environment)
        checkout, *others = requirements(flavour)
        install = [*pip, "install", "-qq", "--disable-pip-version-check"]
        done = subprocess.run([*install, "--editable", checkout, *others], cwd=ROOT, check=False)
        if done.returncode != 0:
            raise SetupError(
                f"pip could not install {' '.join([checkout, *others])} (its message is above): "
                "mend the network or the package index, then run this again"
            )
        if flavour == ASCEND:
            add_torch(install)
        ready.write_text("")
        for other in ENVIRONMENTS.glob(f"{environment.name.rpartition('-')[0]}-????????????"):
            if other != environment:  # what pyproject.toml asked for before: 1 GB each
                shutil.rmtree(other, ignore_errors=True)
                other.with_name(f"{other.name}.lock").unlink(missing_ok=True)
        say(f"made in {time.monotonic() - start:.0f} s")
    return environment


def add_torch(install: Sequence[str]) -> None:
    """Install torch for the CPU where a configured place or PyTorch's own index has it; else say
    so, and the tests that need it are skipped."""
    places: list[list[str]] = [[]]
    if reachable(TORCH_INDEX):
        places.append(["--extra-index-url", TORCH_INDEX])
    for place in places:
        done = subprocess.run([*install, *place, TORCH], cwd=ROOT, capture_output=True, check=False)
        if done.returncode == 0:
            return
    say(f"no {TORCH} from the package index or {TORCH_INDEX}: tests that compute are skipped")


def reachable(url: str, seconds: float = 3.0) -> bool:
    """Whether anything listens at the address; pip itself would try for minutes."""
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        with socket.create_connection((host, 443), seconds):
            return True
    except OSError:
        return False


def run(environment: Path, command: Sequence[str]) -> int:
    """Run a command inside an environment, from the checkout; its exit code."""
    binaries = python_of(environment).parent
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    variables["VIRTUAL_ENV"] = str(environment)
    variables["PATH"] = f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(command[0], path=variables["PATH"])
    if found is None:
        raise SetupError(f"there is no command {command[0]!r} in {environment}")
    code = subprocess.run([found, *command[1:]], cwd=ROOT, env=variables, check=False).returncode
    return code if code >= 0 else 128 - code


def demo(flavour: str, arguments: Sequence[str]) -> int:
    """Explain and prune the flash attention example."""
    return run(prepare(flavour), ["python", "examples/flash_attention.py", *arguments])


def test(flavour: str, arguments: Sequence[str]) -> int:
    """Run pytest with the arguments given; the whole suite where no path is among them."""
    workers = str(min(DEFAULT_TEST_WORKERS, os.cpu_count() or 1))
    command = ["python", "-m", "pytest", "-q", "-n", workers, *arguments]
    return run(prepare(flavour), command)


def lint(flavour: str, arguments: Sequence[str]) -> int:
    """Run every linter; the first exit code that is not 0."""
    environment = prepare(flavour)
    worst = 0
    for command in (
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy", "--strict"],
        ["lint-imports"],
    ):
        say(" ".join(command))
        worst = worst or run(environment, [*command, *arguments])
    return worst


def execute(flavour: str, arguments: Sequence[str]) -> int:
    """Run any command inside the flavour's environment."""
    command = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    if not command:
        raise SetupError("exec needs a command, such as: tools/run.py exec -- ascend-autotune -h")
    return run(prepare(flavour), command)


def prepare_all(flavour: str, arguments: Sequence[str]) -> int:
    """Make the environments of the flavours named, or of the one flavour."""
    for name in arguments or [flavour]:
        prepare(name)
    return 0


COMMANDS = {"demo": demo, "test": test, "lint": lint, "exec": execute, "prepare": prepare_all}


def read(argv: Sequence[str]) -> tuple[str, str, list[str]]:
    """The command, the flavour and what is passed on; `--flavour` stands right behind the command.

    Raises:
        SetupError: there is no such command.
    """
    command, *rest = argv
    if command not in COMMANDS:
        raise SetupError(f"there is no command {command!r}: say one of {', '.join(COMMANDS)}")
    if rest[:1] == ["--flavour"] and len(rest) > 1:
        return command, rest[1], rest[2:]
    if rest and rest[0].startswith("--flavour="):
        return command, rest[0].partition("=")[2], rest[1:]
    return command, ASCEND, rest


def main(argv: Sequence[str]) -> int:
    """Read the command line and run one command; its exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if argv else 2
    try:
        if sys.version_info < (3, 11):
            raise SetupError(
                f"this is Python {platform.python_version()} and 3.11 is needed: run it as "
                "python3.11 tools/run.py"
            )
        command, flavour, rest = read(argv)
        return COMMANDS[command](flavour, rest)
    except SetupError as error:
        print(f"tools/run.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
