"""The stages of a search, on a device that is a formula."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from ascend_autotune.errors import RequestError
from ascend_autotune.search import EFFORTS, Checked, Config, ConfigFailed, Lessons, search
from tests.search.fakes import FakeDevice, bowl, problem, tiles

BEST = Config({"BLOCK_M": 64, "BLOCK_N": 128}, {"sync_solver": True})


def test_finds_the_best_and_lists_every_config() -> None:
    device = FakeDevice(bowl)
    result = search(problem(), device)
    assert result.best == BEST
    assert result.best_ms == pytest.approx(0.009)
    assert result.complete
    assert len({t.config for t in result.trials}) == len(result.trials) == 36 * 4
    assert result.stats["measured"] <= 40
    assert "best      BLOCK_M=64, BLOCK_N=128, sync_solver=True" in str(result)
    assert result.to_json()["best"] == BEST.to_json()


def test_the_default_is_first_and_in_the_final() -> None:
    device = FakeDevice(bowl)
    search(problem(), device)
    default = problem().default
    assert device.asked[0] == default
    assert device.asked.count(default) >= 2


def test_same_seed_same_order() -> None:
    first, second, other = (FakeDevice(bowl) for _ in range(3))
    search(problem(default=None), first, seed=1)
    search(problem(default=None), second, seed=1)
    search(problem(default=None), other, seed=2)
    assert first.asked == second.asked
    assert len(other.asked) > 0


def test_no_config_is_measured_twice_before_the_final() -> None:
    device = FakeDevice(bowl)
    result = search(problem(), device)
    measured = int(str(result.stats["measured"]))
    assert max(Counter(device.asked[:measured]).values()) == 1


def test_effort_limits_what_is_measured() -> None:
    for limit in (1, 2, 7):
        device = FakeDevice(bowl)
        result = search(problem(), device, effort=replace(EFFORTS["default"], configs=limit))
        assert result.stats["measured"] == limit
        assert result.best is not None and result.complete


def test_unknown_effort() -> None:
    with pytest.raises(RequestError, match="did you mean 'quick'"):
        search(problem(), FakeDevice(bowl), effort="quik")


def test_budget_keeps_the_best_so_far() -> None:
    result = search(problem(), FakeDevice(bowl), budget_s=10)
    assert not result.complete and "budget" in result.ended
    assert result.best is not None
    assert result.seconds <= 11
    at_once = search(problem(), FakeDevice(bowl), budget_s=0)
    assert at_once.best == problem().default and not at_once.complete


def test_ctrl_c_keeps_the_best_so_far() -> None:
    for after in (1, 5, 12, 16):
        device = FakeDevice(bowl)

        def interrupted(config: Config, device: FakeDevice = device, after: int = after) -> float:
            if len(device.asked) > after:
                raise KeyboardInterrupt
            return bowl(config)

        device.formula = interrupted
        result = search(problem(), device)
        assert not result.complete and result.ended == "interrupted"
        assert result.best is not None


def test_overflow_rules_out_what_is_larger() -> None:
    device = FakeDevice(bowl)
    result = search(problem(), device, effort="full")
    failed = [t.config.candidate for t in result.trials if t.fate == "failed"]
    assert failed
    for one in failed:
        for other in failed:
            if one != other:
                assert not all(int(str(one[n])) >= int(str(other[n])) for n in one)


def test_overflow_by_bytes_goes_across_profiles() -> None:
    def check(config: Config) -> Checked:
        m, n = (int(str(config.candidate[name])) for name in ("BLOCK_M", "BLOCK_N"))
        return Checked(config, bytes={"ub": m * n * 4})

    device = FakeDevice(bowl)
    lessons = Lessons()
    search(problem(check=check), device, effort="full", lessons=lessons)
    failed = [t for t in lessons.overflows]
    assert len(failed) <= 3
    again = FakeDevice(bowl)
    result = search(problem(check=check), again, effort="full", lessons=lessons)
    assert result.stats["failed"] == 0


def test_an_overflow_of_another_program_says_nothing_by_size() -> None:
    lessons = Lessons()
    search(problem(program="fp32"), FakeDevice(bowl), effort="full", lessons=lessons)
    assert lessons.overflows
    roomy = FakeDevice(lambda config: 1.0)
    result = search(problem(program="fp16"), roomy, effort="full", lessons=lessons)
    assert not [t for t in result.trials if t.fate == "pruned"]
    same = search(problem(program="fp32"), FakeDevice(bowl), effort="full", lessons=lessons)
    assert same.stats["failed"] == 0


def test_what_another_search_taught_never_leaves_nothing() -> None:
    lessons = Lessons()
    smallest = Config({"BLOCK_M": 16, "BLOCK_N": 16})
    lessons.learn((), smallest, ConfigFailed("overflow", "too large"), {})
    result = search(problem(), FakeDevice(bowl), lessons=lessons)
    assert result.best is not None


def test_the_report_fits_a_terminal_and_counts_like_causes_together() -> None:
    text = str(search(problem(), FakeDevice(bowl), effort="full"))
    assert max(map(len, text.splitlines())) <= 80
    failed = text.split("  failed:\n")[1].splitlines()
    assert [line.strip() for line in failed if "ub overflow" in line] and len(failed) <= 4


def test_refused_and_merged_configs_cost_nothing() -> None:
    def check(config: Config) -> Checked:
        if config.candidate["BLOCK_M"] == 512:
            return Checked(config, refused="too large")
        if config.profile.get("multibuffer", True):
            return Checked(config)
        on = {k: v for k, v in config.profile.items() if k != "multibuffer"}
        return Checked(Config(config.candidate, on))

    device = FakeDevice(bowl)
    result = search(problem(check=check), device, effort="full")
    assert result.best == BEST
    assert all(c.candidate["BLOCK_M"] != 512 for c in device.asked)
    assert all("multibuffer" not in c.profile for c in device.asked)
    merged = [t for t in result.trials if t.fate == "merged"]
    assert merged and all(t.same_as in device.asked for t in merged)


def test_a_refused_config_is_not_what_another_becomes() -> None:
    small = Config({"BLOCK_M": 16, "BLOCK_N": 16}, {})

    def check(config: Config) -> Checked:
        return Checked(small, refused="no" if config == small else "")

    result = search(problem(check=check), FakeDevice(bowl))
    assert result.best is None


def test_gate_rejects_until_one_passes() -> None:
    def gate(config: Config) -> None:
        if config.candidate["BLOCK_N"] == 128:
            raise ConfigFailed("wrong", "differs by 3")

    result = search(problem(), FakeDevice(bowl), gate=gate)
    assert result.best is not None and result.best.candidate["BLOCK_N"] != 128
    assert result.gate != "none"
    rejected = [t for t in result.trials if t.fate == "rejected"]
    assert rejected and all("differs by 3" in t.reason for t in rejected)


def test_all_fail() -> None:
    def never(config: Config) -> float:
        raise ConfigFailed("fault", "device fault")

    result = search(problem(), FakeDevice(never))
    assert result.best is None and result.best_ms is None
    assert "no config" in str(result)


def test_all_rejected() -> None:
    def gate(config: Config) -> None:
        raise ConfigFailed("wrong", "differs")

    assert search(problem(), FakeDevice(bowl), gate=gate).best is None


def test_last_trials_are_tried_once_at_the_end() -> None:
    def last(best: Config) -> list[Config]:
        return [best.with_profile({**best.profile, "unit_flag": True})]

    def formula(config: Config) -> float:
        return bowl(config) * (0.5 if config.profile.get("unit_flag") else 1)

    device = FakeDevice(formula)
    small = replace(EFFORTS["default"], configs=41)
    result = search(problem(last_trials=last), device, effort=small)
    assert result.best == last(BEST)[0]


def test_a_failing_default_does_not_end_the_search() -> None:
    large = Config({"BLOCK_M": 512, "BLOCK_N": 512}, {})
    result = search(problem(default=large), FakeDevice(bowl))
    assert result.best == BEST


def test_a_space_of_one() -> None:
    one = problem(candidates=tiles(sizes=(64,)), profiles=({},), default=None)
    assert search(one, FakeDevice(bowl)).best == Config({"BLOCK_M": 64, "BLOCK_N": 64}, {})


def test_an_empty_space() -> None:
    assert search(problem(candidates=[], default=None), FakeDevice(bowl)).best is None
