"""What several test modules share."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

# A shared machine may stall any single example: no deadline. The same examples on every run, so
# that a red run can be repeated.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden/ from what the examples give now (see tests/test_examples.py)",
    )


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; the test is skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"there is no reference data at {folder}")
    return folder
