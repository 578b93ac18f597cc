"""Winners on disk."""

from __future__ import annotations

import json
from pathlib import Path

from ascend_autotune.search.config import Config
from ascend_autotune.search.store import Store, Winner

WINNER = Winner(Config({"BLOCK": 64}, {"multibuffer": False}), 1.5)


def test_a_winner_comes_back_with_its_options(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(("k", 1024, "fp16"), WINNER)
    assert Store(tmp_path).get(("k", 1024, "fp16")) == WINNER


def test_options_are_part_of_an_entry(tmp_path: Path) -> None:
    """Case 9: another launch option is another entry."""
    store = Store(tmp_path)
    store.put(("k", "multibuffer=False"), WINNER)
    assert store.get(("k", "multibuffer=True")) is None


def test_fields_of_another_release_do_not_crash_the_reader(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(("k",), WINNER)
    (file,) = tmp_path.glob("*.json")
    record = json.loads(file.read_text())
    record["winner"]["rescued_by"] = {"a": [1]}
    file.write_text(json.dumps(record))
    assert store.get(("k",)) == WINNER
    record["winner"]["profile"] = {"multibuffer": ["odd"]}
    file.write_text(json.dumps(record))
    assert store.get(("k",)) is None
    file.write_text("{half")
    assert store.get(("k",)) is None
