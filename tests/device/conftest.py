"""These tests need a GPU, torch for it and Triton; elsewhere they are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def _missing() -> str:
    try:
        import torch
        import triton  # noqa: F401
    except Exception as error:  # torch_npu without CANN makes importing torch itself fail
        return f"no torch or no Triton: {error}"
    return "" if torch.cuda.is_available() else "no GPU"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    missing = _missing()
    for item in items:
        if missing and here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=missing))
