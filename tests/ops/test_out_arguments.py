"""What out= arguments may be: their types, and memory shared with the inputs."""

import pytest

import minitorch as mt


@pytest.mark.parametrize(
    "call",
    [
        lambda out: mt.mm(mt.ones(2, 2), mt.ones(2, 2), out=out),
        lambda out: mt.gather(mt.ones(2, 2), 1, mt.zeros(2, 2, dtype=mt.int64), out=out),
        lambda out: mt.softmax(mt.ones(2, 2), 1, out=out),
        lambda out: mt.abs(mt.ones(2, 2), out=out),
        lambda out: mt.linalg.inv(mt.eye(2), out=out),
        lambda out: mt.aminmax(mt.ones(3, 2, 2), dim=0, out=(mt.empty(2, 2), out)),
    ],
)
def test_own_loops_write_only_the_type_of_the_result(call):
    with pytest.raises(RuntimeError, match=r"Expected out tensor to have dtype torch.float32, but got torch.float64"):
        call(mt.empty(2, 2, dtype=mt.float64))


def test_pointwise_operators_cast_into_a_wider_type():
    out = mt.empty(2, dtype=mt.float64)
    assert mt.add(mt.ones(2), mt.ones(2), out=out) is out
    assert out.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="can't be cast"):
        mt.add(mt.ones(2), mt.ones(2), out=mt.empty(2, dtype=mt.int64))
    with pytest.raises(TypeError, match="can't be cast"):
        mt.cat([mt.ones(2)], out=mt.empty(2, dtype=mt.int64))


def test_any_and_all_still_write_bytes():
    assert mt.any(mt.tensor([True, False]), 0, out=mt.empty((), dtype=mt.uint8)).item() == 1
    with pytest.raises(RuntimeError, match="Expected out tensor"):
        mt.any(mt.tensor([True]), 0, out=mt.empty((), dtype=mt.int32))


def test_running_sums_take_the_type_of_out():
    assert mt.cumsum(mt.tensor([1.5, 2.0]), 0, out=mt.empty(2, dtype=mt.int64)).tolist() == [1, 3]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: mt.take(x, mt.tensor([0, 1]), out=x),
        lambda x: mt.masked_select(x, x > 0, out=x),
        lambda x: mt.index_select(x, 0, mt.tensor([0]), out=x[:1]),
        lambda x: mt.cat([x[:1], x[1:]], out=x),
        lambda x: mt.kthvalue(x, 1, 0, out=(x[:1].squeeze(), mt.empty((), dtype=mt.int64))),
    ],
)
def test_gathering_into_the_source_is_refused(call):
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        call(mt.arange(4.0))


def test_pointwise_operators_refuse_shifted_memory_only():
    x = mt.arange(4.0)
    assert mt.exp(x, out=x) is x
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        mt.exp(x[:3], out=x[1:])
    mt.exp(x[:2], out=x[2:])  # neighbours do not overlap
    mt.add(x[:1], x, out=x)  # a broadcast operand is not looked at
