"""The correctness gate: wrong configs never pass, noise of the kernel's own does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from ascend_autotune.errors import RequestError  # noqa: E402
from ascend_autotune.search.buffers import Buffers  # noqa: E402
from ascend_autotune.search.comparing import compare, compared  # noqa: E402
from ascend_autotune.search.config import Config  # noqa: E402
from ascend_autotune.search.device import ConfigFailed  # noqa: E402
from ascend_autotune.search.gate import Gate, by_name  # noqa: E402

DEFAULT, OTHER = Config({"BLOCK": 64}), Config({"BLOCK": 128})


def gate(
    write: Callable[[Config, torch.Tensor], object],
    y: torch.Tensor,
    reference: Callable[[], object] | None = None,
    tolerances: dict[str, tuple[float, float]] | None = None,
) -> Gate:
    buffers = Buffers({"y": y}, {"y"}, ()).__enter__()
    return Gate(
        lambda config: write(config, y),
        buffers,
        default=DEFAULT,
        reference=reference,
        tolerances=tolerances,
    )


def test_another_result_is_rejected_with_the_place() -> None:
    def write(config: Config, y: torch.Tensor) -> None:
        y.fill_(1.0)
        if config == OTHER:
            y[1, 2] = 5.0

    checked = gate(write, torch.zeros(2, 3))
    checked(DEFAULT)
    with pytest.raises(ConfigFailed, match=r"y\[1, 2\] is 5 where 1 is wanted") as caught:
        checked(OTHER)
    assert caught.value.kind == "wrong"
    assert checked.kind == "default config"


def test_two_configs_that_each_write_half_do_not_pass_for_one() -> None:
    """Case 16: what one leaves untouched is not filled by what another wrote before."""

    def write(config: Config, y: torch.Tensor) -> None:
        (y[:2] if config == OTHER else y).fill_(1.0)

    checked = gate(write, torch.zeros(4))
    checked(DEFAULT)
    with pytest.raises(ConfigFailed, match="2 elements are not written"):
        checked(OTHER)


def test_a_config_is_compared_more_than_once() -> None:
    """Case 17: right the first time, wrong the second."""
    runs = iter([1.0, 1.0, 1.0, 2.0])
    checked = gate(lambda config, y: y.fill_(next(runs)), torch.zeros(4))
    with pytest.raises(ConfigFailed):
        checked(OTHER)


def test_rounding_is_no_difference() -> None:
    wanted = torch.rand(64, dtype=torch.float16)

    def write(config: Config, y: torch.Tensor) -> None:
        y.copy_(wanted * (1.0 + 4e-3 * (config == OTHER)))

    gate(write, torch.zeros(64, dtype=torch.float16))(OTHER)
    with pytest.raises(ConfigFailed):
        gate(write, torch.zeros(64, dtype=torch.float16), tolerances={"float16": (1e-5, 0.0)})(
            OTHER
        )


def test_noise_of_the_kernel_itself_is_told_apart() -> None:
    turns = iter(range(100))
    noisy = gate(lambda config, y: y.fill_(100.0 + next(turns) % 2), torch.zeros(8))
    noisy(OTHER)
    turns = iter(range(100))
    wrong = gate(
        lambda config, y: y.fill_(100.0 + next(turns) % 2 + 50 * (config == OTHER)),
        torch.zeros(8),
    )
    with pytest.raises(ConfigFailed):
        wrong(OTHER)


def test_nan_is_equal_to_nan_alone() -> None:
    nan, one = torch.tensor([float("nan")]), torch.ones(1)
    zero = torch.zeros(1)
    assert compare("y", nan, nan, zero) is None
    assert compare("y", nan, one, zero) is not None
    assert compare("y", one, nan, zero) is not None
    infinite = torch.tensor([float("inf")])
    assert compare("y", infinite, infinite, zero) is None
    assert compare("y", infinite, one, zero) is not None


def test_the_default_itself_is_checked_against_a_reference() -> None:
    checked = gate(lambda config, y: y.fill_(1.0), torch.zeros(4), lambda: torch.full((4,), 2.0))
    with pytest.raises(ConfigFailed, match="reference"):
        checked(DEFAULT)
    assert checked.kind == "reference_fn"


def test_a_reference_may_answer_in_three_forms() -> None:
    a, b = torch.zeros(1), torch.ones(1)
    assert by_name(a, ("x",)) == {"x": a}
    assert by_name((a, b), ("x", "y")) == {"x": a, "y": b}
    assert by_name({"y": b}, ("x", "y")) == {"y": b}
    with pytest.raises(RequestError, match="does not write"):
        by_name({"z": a}, ("x",))
    with pytest.raises(RequestError, match="returned 1 values, the kernel writes 2"):
        by_name(a, ("x", "y"))


def test_a_reference_of_another_shape_is_the_requests_fault() -> None:
    checked = gate(lambda config, y: y.fill_(1.0), torch.zeros(4), lambda: torch.ones(3))
    with pytest.raises(RequestError, match="shape"):
        checked(OTHER)


def test_what_the_kernel_never_writes_is_the_callers() -> None:
    """A kernel that fills one slot of a cache: the reference answers with the whole cache."""
    cache = torch.arange(8.0)

    def wanted() -> torch.Tensor:
        answer = torch.arange(8.0)
        answer[3] = 30.0
        return answer

    def write(config: Config, y: torch.Tensor) -> None:
        y[3] = 31.0 if config == OTHER else 30.0

    for reference in (wanted, None):
        checked = gate(write, cache, reference)
        checked(DEFAULT)
        with pytest.raises(ConfigFailed, match=r"y\[3\] is 31"):
            checked(OTHER)
        assert torch.equal(cache, torch.arange(8.0))


def test_stale_results_do_not_count_as_written() -> None:
    """The buffer holds the right answer already: a config that writes nothing is still wrong."""
    y = torch.ones(4)
    for reference in (lambda: torch.ones(4), None):
        checked = gate(lambda config, y: y.fill_(1.0) if config == DEFAULT else None, y, reference)
        with pytest.raises(ConfigFailed, match="4 elements are not written"):
            checked(OTHER)


def test_half_that_comes_out_as_nan_is_wrong() -> None:
    def write(config: Config, y: torch.Tensor) -> None:
        y.fill_(float("nan") if config == OTHER else 1.0)

    with pytest.raises(ConfigFailed, match="nan where 1 is wanted"):
        gate(write, torch.zeros(4, dtype=torch.float16))(OTHER)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int32, torch.int64, torch.bool, torch.bfloat16]
)
def test_other_dtypes(dtype: torch.dtype) -> None:
    def write(config: Config, y: torch.Tensor) -> None:
        y.fill_(1)
        if config == OTHER:
            y[0, 1] = 0

    checked = gate(write, torch.zeros((2, 2), dtype=dtype))
    checked(DEFAULT)
    with pytest.raises(ConfigFailed, match=r"y\[0, 1\] is 0 where 1 is wanted"):
        checked(OTHER)


def test_a_default_that_does_not_run_is_replaced() -> None:
    third = Config({"BLOCK": 32})

    def write(config: Config, y: torch.Tensor) -> None:
        if config == DEFAULT:
            raise RuntimeError("device-side trouble")
        y.fill_(1.0 + (config == OTHER))

    y = torch.zeros(4)
    with Buffers({"y": y}, {"y"}, ()) as buffers:
        checked = Gate(lambda c: write(c, y), buffers, default=DEFAULT, others=[third])
        checked(third)
        with pytest.raises(ConfigFailed) as caught:
            checked(OTHER)
    assert caught.value.kind == "wrong"
    with Buffers({"y": y}, {"y"}, ()) as buffers:
        alone = Gate(lambda c: write(c, y), buffers, default=DEFAULT)
        with pytest.raises(ConfigFailed, match="device-side trouble") as caught:
            alone(DEFAULT)
        assert caught.value.kind == "launch"
        alone(OTHER)  # nothing to compare it with: it stands for the others
        assert alone.kind == "none"
        with pytest.raises(ConfigFailed, match="differs"):
            alone(third)


def test_an_accumulating_kernel_is_judged_from_the_callers_values() -> None:
    total = torch.full((4,), 10.0)
    buffers = Buffers({"total": total}, {"total"}, {"total"}).__enter__()
    checked = Gate(
        lambda config: total.add_(1.0 + (config == OTHER)),
        buffers,
        default=DEFAULT,
        reference=lambda: torch.full((4,), 11.0),
    )
    checked(DEFAULT)
    with pytest.raises(ConfigFailed, match="is 12 where 11 is wanted"):
        checked(OTHER)
    assert torch.equal(total, torch.full((4,), 10.0))


def test_large_tensors_are_compared_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_autotune.search.comparing.CHUNK", 7)
    wanted = torch.rand(5, 6)
    got = wanted.clone()
    got[1, 2] += 1
    got[4, 5] -= 3
    found = compared("y", got, wanted)
    assert found is not None and found.index == (4, 5) and found.count == 2
    assert compared("y", wanted.clone(), wanted) is None


def test_what_is_known_not_to_run_is_not_launched() -> None:
    """A default that hung in a worker must not hang this process."""
    launched = []

    def write(config: Config, y: torch.Tensor) -> None:
        launched.append(config)
        y.fill_(1.0)

    def first(config: Config) -> None:
        if config == DEFAULT:
            raise ConfigFailed("hang", "its launch did not end within 30 s")

    checked = gate(write, torch.zeros(4))
    checked.first = first
    checked(OTHER)
    assert DEFAULT not in launched and OTHER in launched
