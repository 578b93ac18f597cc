"""The caller's tensors during a search."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from ascend_autotune.search.buffers import Buffers  # noqa: E402


def test_what_is_only_written_is_poisoned_and_what_is_read_is_put_back() -> None:
    x, y = torch.ones(4), torch.zeros(4)
    with Buffers({"x": x, "y": y}, {"x", "y"}, {"x"}) as buffers:
        x += 5
        with buffers.trial():
            assert torch.equal(x, torch.ones(4))
            assert y.isnan().all()
        y += 1
    assert torch.equal(x, torch.ones(4))
    assert torch.equal(y, torch.zeros(4))


def test_whole_numbers_are_poisoned_too() -> None:
    y = torch.zeros(4, dtype=torch.int32)
    with Buffers({"y": y}, {"y"}, ()) as buffers, buffers.trial():
        assert (y != 0).all()
    assert not y.any()


def test_an_output_that_is_also_an_input_by_another_name_is_not_poisoned() -> None:
    x = torch.arange(4.0)
    with Buffers({"x": x, "y": x.view(2, 2)}, {"y"}, {"x"}) as buffers, buffers.trial():
        assert torch.equal(x, torch.arange(4.0))


def test_a_view_is_put_back_through_its_strides() -> None:
    whole = torch.arange(16.0).reshape(4, 4)
    with Buffers({"y": whole.t()[1:3]}, {"y"}, ()) as buffers, buffers.trial():
        assert whole[:, 1:3].isnan().all()
        assert not whole[:, 0].isnan().any()
    assert torch.equal(whole, torch.arange(16.0).reshape(4, 4))


def test_tensors_are_put_back_when_a_search_is_interrupted() -> None:
    y = torch.zeros(4)
    with pytest.raises(KeyboardInterrupt), Buffers({"y": y}, {"y"}, ()):
        y += 1
        raise KeyboardInterrupt
    assert not y.any()


def test_what_cannot_be_copied_is_left_alone() -> None:
    assert not Buffers({"x": object()}, {"x"}, ())


def test_what_two_trials_left_alone_is_told() -> None:
    y = torch.zeros(4)
    with Buffers({"y": y}, {"y"}, ()) as buffers:
        runs = []
        for poison in (0, 1):
            with buffers.trial(poison):
                y[:2] = float("nan")  # the kernel's own NaN is no poison
                runs.append(buffers.copies()["y"])
        left = buffers.untouched("y", *runs)
        assert left.tolist() == [False, False, True, True]


def test_updated_tensors_are_refreshed_between_repetitions() -> None:
    x, y = torch.ones(2), torch.zeros(2)
    with Buffers({"x": x, "y": y}, {"x", "y"}, {"x"}) as buffers, buffers.trial():
        x += 1
        y.fill_(7)
        buffers.refresh()
        assert x.tolist() == [1, 1] and y.tolist() == [7, 7]


def test_a_snapshot_goes_to_the_host_where_the_device_is_full() -> None:
    class Full:
        """A tensor on a full device."""

        def __init__(self) -> None:
            self.own, self.shape, self.dtype = torch.zeros(2), (2,), torch.float32

        def clone(self) -> object:
            raise RuntimeError("NPU out of memory")

        def cpu(self) -> torch.Tensor:
            return self.own.clone()

        def copy_(self, other: torch.Tensor) -> None:
            self.own.copy_(other)

        def fill_(self, value: float) -> None:
            self.own.fill_(value)

        def data_ptr(self) -> int:
            return 1

    full = Full()
    with Buffers({"y": full}, {"y"}, {"y"}):
        full.own += 3
    assert full.own.tolist() == [0, 0]
