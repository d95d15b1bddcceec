"""Every operator of `op_db` writes and aliases what its schema says, and is on meta what it is on the CPU."""

from __future__ import annotations

import pytest
from op_db_helpers import call, first_dtype, outputs, over

import minitorch as mt
from minitorch.utils.debug import CrossReferenceMode, SchemaCheckMode

ALWAYS_REFUSED = ("is not implemented", "in-place operation")


def run(record, mode):
    """Call an operator on its samples, and once more with gradients."""
    ran = 0
    for sample in record.samples(first_dtype(record)):
        with mode:
            call(record, sample)
        ran += 1
        leaves = [t for t in sample.tensors() if t.is_leaf and (t.dtype.is_floating_point or t.dtype.is_complex)]
        for leaf in leaves:
            leaf.requires_grad_()
        try:
            with mode:
                results = [r for r in outputs(call(record, sample)) if isinstance(r, mt.Tensor) and r.requires_grad]
                if results:
                    sum(r.abs().sum() for r in results).backward()
        except (RuntimeError, NotImplementedError) as error:
            # Without a derivative, or written in place: there is no backward to look at.
            if not any(text in str(error) for text in ALWAYS_REFUSED):
                raise
    return ran


@over()
def test_schemas_tell_the_truth(record):
    assert run(record, SchemaCheckMode())


@over()
def test_meta_agrees(record):
    mode = CrossReferenceMode()
    assert run(record, mode)
    if not mode.compared:
        pytest.skip("nothing that meta could do")


def test_flip_of_an_expanded_tensor():
    """What the comparison with meta found: the CPU kept the order of memory that is not there."""
    x = mt.ones(3).expand(2, 3)
    with CrossReferenceMode():
        assert mt.flip(x, [0]).stride() == (3, 1)
