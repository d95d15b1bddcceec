"""What is not of the level that uses it: tensors that escaped, errors in the middle, hooks, anomaly mode."""

import pytest

import minitorch as mt
from minitorch.func import grad, jacfwd, jacrev, jvp, linearize, vmap
from minitorch.testing import assert_close


def escaped(transformed):
    kept = []
    transformed(lambda x: (kept.append(x * 2), x.sum())[1])
    return kept[0]


def test_an_example_that_escaped_is_not_taken_for_all_examples():
    x = mt.arange(6.0).reshape(3, 2)
    example = escaped(lambda f: vmap(f)(x))
    assert example.shape == (2,)
    uses = [
        lambda: example + 1,
        lambda: vmap(lambda y: y + example)(x),
        lambda: grad(lambda y: (y * example).sum())(x[0]),
        lambda: grad(lambda y: y.sum())(example),
        lambda: vmap(lambda _: escaped(lambda f: vmap(f)(x)) * 2)(x),
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="escaped"):
            use()
    assert_close(vmap(lambda y: y + 1)(x), x + 1)


def test_what_grad_and_jvp_followed_is_a_constant_afterwards():
    x = mt.arange(6.0).reshape(3, 2)
    for kept in (escaped(lambda f: grad(f)(x)), escaped(lambda f: jvp(f, (x,), (x,)))):
        assert_close(grad(lambda y: (y * kept).sum())(x), 2 * x)
        assert_close(vmap(lambda y: y + 1)(kept), 2 * x + 1)


def test_anomaly_mode_sees_all_examples():
    def slope_of_root(x):
        return grad(lambda x: (x * 0).sqrt().sum() if bad else x.sum())(x)

    x = mt.ones(2, 3)
    with mt.autograd.set_detect_anomaly(True):
        bad = False
        assert_close(vmap(slope_of_root)(x), x)
        bad = True
        with pytest.warns(UserWarning, match="forward call"), pytest.raises(RuntimeError, match="returned nan values"):
            vmap(slope_of_root)(x)


def test_wrong_arguments():
    x = mt.ones(2, 3)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(mt.sin, randomness="some")(x)
    _, push = linearize(mt.sin, x)
    with pytest.raises(RuntimeError, match="dtype of its primal"):
        push(x.double())
    for jacobian in (jacrev, jacfwd):
        with pytest.raises(RuntimeError, match="inputs to be real"):
            jacobian(lambda x: x * x)(x * 1j)
        with pytest.raises(RuntimeError, match="outputs to be real"):
            jacobian(lambda x: x * (1 + 1j))(x)
    with pytest.raises(NotImplementedError, match="storage"):
        vmap(lambda x: x.untyped_storage())(x)


@pytest.mark.parametrize("dim", [1, 7, -1])
def test_out_dims_of_a_rule_count_examples(dim):
    class Double(mt.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return Double.apply(x), dim

    with pytest.raises(RuntimeError, match="Double: out_dims of the vmap rule"):
        vmap(Double.apply)(mt.ones(2, 3))


def test_tensor_of_tensors_that_are_followed():
    x = mt.tensor([2.0, 3.0])
    # Made of values, it is a constant.
    assert_close(grad(lambda x: (mt.tensor([x[0], 4.0]) * x).sum())(x), mt.tensor([2.0, 4.0]))
    with pytest.raises(RuntimeError, match="item"):
        vmap(lambda x: mt.tensor([x, x]))(x)
