"""`LoggingTensorMode` (spec U5)."""

from __future__ import annotations

import re

import pytest

import minitorch
from minitorch.testing.logging_tensor import LoggingTensorMode, capture_logs, capture_logs_with_logging_tensor_mode


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
    assert len(mode._lines.numbers) == 1


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


def make_log(torch, module):
    x = module.LoggingTensor(torch.tensor([3.0]), requires_grad=True)
    with module.capture_logs() as logs:
        module.log_input("x", x)
        y = x * 3
        (grad,) = torch.autograd.grad(y.sum(), x)
        module.log_input("grad", grad)
        torch.ops.aten.add.Tensor(x, 1, alpha=2)
    x * 2  # nobody listens
    return logs


def test_tensors_that_log():
    from minitorch.testing import logging_tensor

    logs = make_log(minitorch, logging_tensor)
    assert logs[:3] == [
        "$0: f32[1] = input('x')",
        "$1: f32[1] = torch._ops.aten.mul.Tensor($0, 3)",
        "$2: f32[] = torch._ops.aten.sum.default($1)",
    ]
    assert logs[-2:] == ["$5: f32[1] = input('grad')", "$6: f32[1] = torch._ops.aten.add.Tensor($0, 1, alpha=2)"]


@pytest.mark.oracle
def test_tensors_that_log_do_so_as_in_torch(torch):
    from torch.testing._internal import logging_tensor as reference

    from minitorch.testing import logging_tensor

    def without_defaults(lines):
        return [re.sub(r"(, )?(pin_memory|memory_format)=[\w.]+", "", line).replace("'1'", "1") for line in lines]

    ours, theirs = make_log(minitorch, logging_tensor), make_log(torch, reference)
    assert without_defaults(ours) == without_defaults(theirs)


def test_reentrant_ones_record_inside():
    from minitorch.testing.logging_tensor import LoggingTensor, LoggingTensorReentrant

    for cls, recorded in ((LoggingTensor, False), (LoggingTensorReentrant, True)):
        x = cls(minitorch.ones(2))
        x.elem.requires_grad_()
        assert (x * 2).elem.requires_grad == recorded, cls


def test_captures_of_a_mode():
    with capture_logs(is_mode=True) as logs:
        minitorch.ones(1)
    with capture_logs_with_logging_tensor_mode() as others:
        minitorch.ones(1)
    assert logs == others == ["$0: f32[1] = torch._ops.aten.ones.default([1])"]
