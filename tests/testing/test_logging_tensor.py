"""`LoggingTensorMode` (spec U5)."""

from __future__ import annotations

import minitorch
from minitorch.testing.logging_tensor import LoggingTensorMode


def test_lines():
    x = minitorch.ones(2, 3)
    with LoggingTensorMode() as mode:
        y = x + 1
        minitorch.stack([x, y])
        x.to(minitorch.float64)
        y.max(0)
        minitorch.add(x, y, alpha=2)
        x.add_(1)
    assert mode.logs == [
        "$1: f32[2, 3] = torch._ops.aten.add.Tensor($0, 1)",
        "$2: f32[2, 2, 3] = torch._ops.aten.stack.default([$0, $1])",
        "$3: f64[2, 3] = torch._ops.aten._to_copy.default($0, dtype=torch.float64)",
        "$4: f32[3], $5: i64[3] = torch._ops.aten.max.dim($1, 0)",
        "$6: f32[2, 3] = torch._ops.aten.add.Tensor($0, $1, alpha=2)",
        "$0: f32[2, 3] = torch._ops.aten.add_.Tensor($0, 1)",
    ]


def test_a_number_is_given_once_and_dies_with_its_tensor():
    with LoggingTensorMode() as mode:
        x = minitorch.zeros(1)
        for _ in range(3):
            x.exp()  # each result dies before the next is made
    numbers = [line.split(":")[0] for line in mode.logs]
    assert numbers == ["$0", "$1", "$2", "$3"]
    assert len(mode._numbers) == 1


def test_backward_is_logged():
    x = minitorch.ones(2, requires_grad=True)
    y = x.exp().sum()
    with LoggingTensorMode() as mode:
        y.backward()
    assert any("aten.mul.Tensor" in line for line in mode.logs)


def test_values_that_are_no_tensors():
    x = minitorch.ones(2)
    with LoggingTensorMode() as mode:
        x.sum().item()
    assert mode.logs == [
        "$1: f32[] = torch._ops.aten.sum.default($0)",
        "2.0 = torch._ops.aten._local_scalar_dense.default($1)",
    ]
