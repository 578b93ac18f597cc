"""The gate on the modelled NPU, with results that Triton's interpreter computes."""

from __future__ import annotations

import pytest

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed


def test_wrong_and_nan_are_rejected(ready: None) -> None:
    torch = pytest.importorskip("torch")
    from ascend_autotune.search.buffers import Buffers
    from ascend_autotune.search.gate import Gate
    from ascend_autotune.search.standin import activate
    from tests.search.standin.kernels import softmax

    activate(compute=True, faults=lambda _, values: "nan" if values["BLOCK"] == 512 else None)
    x, y = torch.randn(8, 128), torch.zeros(8, 128)

    def launch(config: Config) -> None:
        softmax[(8,)](x, y, 128, 128, **config.values)

    configs = {block: Config({"BLOCK": block}) for block in (128, 256, 512, 64)}
    for reference in (None, lambda: torch.softmax(x, -1)):
        with Buffers({"x": x, "y": y}, {"y"}, {"x"}) as buffers:
            gate = Gate(launch, buffers, default=configs[128], reference=reference)
            gate(configs[128])
            gate(configs[256])
            with pytest.raises(ConfigFailed, match=r"nan where .* is wanted"):
                gate(configs[512])
            with pytest.raises(ConfigFailed) as caught:  # half of a row: another softmax
                gate(configs[64])
            assert caught.value.kind == "wrong"
        assert not y.any()
