"""The samples and errors of `op_db` against PyTorch: results, dtypes, strides, exception types."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from op_db_helpers import assert_same, call, first_dtype, outputs, over

import minitorch as mt

pytestmark = pytest.mark.oracle

# Strides that are the kernel's choice: of what kernel is the reason.
STRIDES_DIFFER = {
    "conj_physical": "PyTorch returns a real operand itself",
    "conv_tbc": "a permuted conv1d here",
    "renorm": "PyTorch's is always row-major",
    "nn.functional.logsigmoid": "PyTorch's is always row-major",
    "unique": "NumPy's unique and PyTorch's put the axis elsewhere",
    "unravel_index": "PyTorch's are columns of one matrix",
    "nn.functional.scaled_dot_product_attention": "heads stay next to their elements, for the projection that follows",
    "_scaled_dot_product_flash_attention_for_cpu": "heads stay next to their elements, for the projection that follows",
}

# Where PyTorch cannot be asked, and why.
NOT_COMPARED = {
    "median": "PyTorch's is wrong for rows that are repeated with a stride of 0",
    "nanmedian": "PyTorch's is wrong for rows that are repeated with a stride of 0",
    "kron": "PyTorch's fails for operands with gaps",
    "Tensor.bfloat16": "NumPy has no bfloat16 for PyTorch to give",
    "embedding_bag": "its further outputs, which only backward needs, are laid out otherwise",
    "_embedding_bag": "its further outputs, which only backward needs, are laid out otherwise",
    "_standard_gamma_grad": "PyTorch's is an approximation, to three digits; tests/distributions/test_implicit_gradients.py",
    "_dirichlet_grad": "PyTorch's is an approximation, to three digits; tests/distributions/test_implicit_gradients.py",
    "index_put": "PyTorch's binding takes no list with None",
    "ops.aten.index": "PyTorch's binding takes no list with None",
}


def converter(torch):
    """Return the function that makes PyTorch's objects of ours."""

    def convert(value):
        if isinstance(value, mt.Tensor):
            # Repeated rows are written once.
            rows = value.detach().handle[tuple(slice(1) if s == 0 else slice(None) for s in value.stride())]
            made = torch.empty_strided(rows.shape, value.stride(), dtype=getattr(torch, value.dtype.name))
            return made.copy_(torch.from_numpy(np.array(rows))).expand(value.shape)
        if isinstance(value, mt.dtype):
            return getattr(torch, value.name)
        if type(value) is type(mt.contiguous_format):
            return getattr(torch, str(value).rpartition(".")[2])
        if isinstance(value, mt.device):
            return torch.device(str(value))
        if isinstance(value, (list, tuple)):
            return type(value)([convert(v) for v in value])
        return value

    return convert


def torch_call(torch, record, sample, function):
    convert = converter(torch)
    args = [convert(a) for a in sample.args]
    return function(*args, **{k: convert(v) for k, v in sample.kwargs.items()})


def torch_function(torch, record):
    if record.call is not None:
        return record.call
    found = torch
    for part in record.name.split("."):
        found = getattr(found, part, None)
    return found


def back(result):
    """Return PyTorch's results as ours."""
    return [
        mt.from_numpy(r.numpy(force=True)) if hasattr(r, "detach") else r
        for r in outputs(result)
    ]


def same_order(sample):
    """Return whether the tensors of a sample agree on the order of their dimensions in memory.

    Where they do not, PyTorch lets the first one decide and NumPy takes rows.
    """
    orders = {tuple(np.argsort([-s for s in t.stride()], kind="stable")) for t in sample.tensors() if t.dim() > 1}
    return len(orders) < 2


def meaningful_strides(tensor):
    return (
        tuple(s if n > 1 else 0 for s, n in zip(tensor.stride(), tensor.shape, strict=True)) if tensor.numel() else ()
    )


@over(only=lambda record: not record.random and record.name not in NOT_COMPARED)
def test_results_are_those_of_torch(record, torch):
    function = torch_function(torch, record)
    if function is None:
        pytest.skip(f"torch has no {record.name}")
    for sample in record.samples(first_dtype(record)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = outputs(torch_call(torch, record, sample, function))
        found = outputs(call(record, sample))
        assert len(found) == len(expected), f"{record.name}{sample!r}"
        for one, other in zip(found, expected, strict=True):
            if isinstance(one, mt.Tensor):
                ordered = same_order(sample) and record.name not in STRIDES_DIFFER
                facts = [(tuple(t.shape), str(t.dtype), ordered and meaningful_strides(t)) for t in (one, other)]
                assert facts[0] == facts[1], f"{record.name}{sample!r}: {facts[0]}, in torch {facts[1]}"
        if record.project is None:
            assert_same(record, found, back(expected), f"{sample!r} in torch")


@over(only=lambda record: record.make_errors is not None)
def test_errors_have_torchs_types(record, torch):
    function = torch_function(torch, record)
    if function is None:
        pytest.skip(f"torch has no {record.name}")
    for error in record.error_samples():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = raised(lambda: torch_call(torch, record, error, function))
            found = raised(lambda: record.function(*error.args, **error.kwargs))
        assert expected is not None, f"{record.name}: torch accepts the arguments of the error {error.match!r}"
        names = [c.__name__.lstrip("_") for c in type(found).__mro__]
        assert type(expected).__name__.lstrip("_") in names, f"{record.name}: {found!r}, in torch {expected!r}"


def raised(run):
    """Return the exception that a call raises, or None."""
    try:
        run()
    except Exception as error:
        return error
    return None
